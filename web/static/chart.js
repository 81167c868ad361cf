// Charts of a page.
