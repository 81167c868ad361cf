resource "vigil_check" "home" {
  name             = "Start page of the shop"
  interval_seconds = 60
  https            = { url = "https://shop.example/" }
}

data "vigil_check" "home" {
  name = vigil_check.home.name
}

# data.vigil_check.home.health_status says how it is.
output "home_page" {
  value = data.vigil_check.home.https.url
}
