"""What the site needs beyond Sphinx's own extensions; ``docs/conf.py`` loads it."""
