variable "shop_password" {
  type      = string
  default   = "change-me"
  ephemeral = true
}

resource "vigil_check" "home" {
  name             = "Home page"
  interval_seconds = 60
  regions          = ["eu-central-fra", "na-east-ewr"]
  labels           = { service = "web" }

  https = {
    url                   = "https://shop.example/"
    expected_status_codes = ["2xx"]
    basic_auth = {
      username            = "probe"
      password_wo         = var.shop_password
      password_wo_version = 1 # another number sends the password again
    }
    assertions = [
      { source = "response_time", operator = "lt", target = 2000 },
    ]
  }
}

# One check for each host.
resource "vigil_check" "certificate" {
  for_each = toset(["shop.example", "api.shop.example"])

  name             = "Certificate of ${each.key}"
  interval_seconds = 3600
  ssl              = { host = each.key, alert_days_before = 14 }
}

# Steps share what an earlier one extracted.
resource "vigil_check" "order" {
  name             = "Order"
  interval_seconds = 300

  multistep = {
    steps = [
      {
        name    = "log in"
        https   = { url = "https://shop.example/login", method = "POST" }
        extract = [{ name = "token", source = "json", property = "$.token" }]
      },
      {
        name  = "order"
        https = { url = "https://shop.example/order?token={{token}}" }
      },
    ]
  }
}
