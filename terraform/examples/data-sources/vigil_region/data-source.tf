data "vigil_region" "virginia" {
  alias = "us-east-1"
}

resource "vigil_check" "home" {
  name             = "Home page from Virginia"
  interval_seconds = 60
  regions          = [data.vigil_region.virginia.key]
  https            = { url = "https://shop.example/" }
}
