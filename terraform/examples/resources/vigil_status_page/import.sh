# By the id, or by the slug.
terraform import vigil_status_page.public slug:example-shop
