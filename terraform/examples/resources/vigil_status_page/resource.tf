resource "vigil_check" "home" {
  name             = "Home page"
  interval_seconds = 60
  https            = { url = "https://shop.example/" }
}

resource "vigil_status_page" "public" {
  slug  = "example-shop"
  title = "Shop"

  groups = [{
    name   = "Web"
    checks = [{ check_id = vigil_check.home.id, name = "Shop" }]
  }]
}
