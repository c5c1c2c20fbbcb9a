"""What pytest must not take for pages with doctests."""

collect_ignore = ["conf.py", "check_links.py", "_build", "_extensions", "auto_gallery", "gallery"]
