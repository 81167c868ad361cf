resource "vigil_notification_channel" "chat" {
  name = "Team chat"
  chat = { webhook_url = "https://hooks.example/services/T0/B0/x" }
}

resource "vigil_subscription" "shop" {
  name       = "Everything of the shop"
  channel_id = vigil_notification_channel.chat.id
  events     = ["incident.*", "check.paused"]
  selector   = { labels = ["team=shop"], severity_min = "warning" }
}
