"""What every report shares: the look of figures, the folder they go to, what they were made with."""
