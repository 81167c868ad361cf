// Live updates of a page.
