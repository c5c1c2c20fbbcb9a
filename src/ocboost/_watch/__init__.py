"""What happened to a model on its way, kept small, and the page that shows it."""
