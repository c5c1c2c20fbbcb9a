"""The boosting sketch: AdaBoost's weights in bounded memory, without the data."""
