resource "vigil_check" "home" {
  name             = "Home page"
  interval_seconds = 60
  https            = { url = "https://shop.example/" }
}

resource "vigil_maintenance_window" "deploys" {
  name             = "Deploys"
  scope            = { check_ids = [vigil_check.home.id] }
  starts_at        = "2026-12-01T22:00"
  timezone         = "Europe/Berlin"
  duration_seconds = 1800
  rrule            = "FREQ=WEEKLY;BYDAY=TU"
}
