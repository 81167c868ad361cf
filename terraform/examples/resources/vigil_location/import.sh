terraform import vigil_location.office key:loc-office
