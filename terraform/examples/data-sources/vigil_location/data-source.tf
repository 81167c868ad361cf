resource "vigil_location" "warehouse" {
  name = "Warehouse"
}

data "vigil_location" "warehouse" {
  key = vigil_location.warehouse.key
}
