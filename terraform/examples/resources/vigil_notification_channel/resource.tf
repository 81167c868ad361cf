variable "hook_secret" {
  type      = string
  default   = "change-me"
  ephemeral = true
}

resource "vigil_notification_channel" "on_call" {
  name = "On-call hook"

  webhook = {
    url               = "https://hooks.example/vigil"
    secret_wo         = var.hook_secret
    secret_wo_version = 1
  }
}

resource "vigil_notification_channel" "mail" {
  name  = "Operators"
  email = { to = ["ops@shop.example"] }
}
