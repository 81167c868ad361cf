resource "vigil_check" "home" {
  name             = "Home page"
  interval_seconds = 60
  https            = { url = "https://shop.example/" }
}

resource "vigil_notification_channel" "on_call" {
  name    = "On-call hook"
  webhook = { url = "https://hooks.example/vigil" }
}

resource "vigil_alert_rule" "down" {
  check_id      = vigil_check.home.id
  name          = "Two failures in a row"
  condition     = { failure_threshold = 2 }
  channel_ids   = [vigil_notification_channel.on_call.id]
  notify_on     = "both"
  region_policy = "majority"
}
