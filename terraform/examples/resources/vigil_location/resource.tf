resource "vigil_location" "office" {
  name   = "Office"
  labels = { site = "berlin" }
}

resource "vigil_check" "printer" {
  name             = "Printer"
  interval_seconds = 60
  regions          = [vigil_location.office.key]
  tcp              = { host = "10.0.0.9", port = 631 }
}

output "office_token" {
  value     = vigil_location.office.token
  sensitive = true
}
