data "vigil_notification_channels" "webhooks" {
  type = "webhook"
}
