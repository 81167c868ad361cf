resource "vigil_notification_channel" "chat" {
  name = "Chat of the team"
  chat = { webhook_url = "https://hooks.example/chat" }
}

data "vigil_notification_channel" "chat" {
  name = vigil_notification_channel.chat.name
}
