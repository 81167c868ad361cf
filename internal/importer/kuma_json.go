// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// readKumaBackup reads the JSON backup of Uptime Kuma 1.x, a list of monitors or notifications as its
// interface gives it, or a file of AutoKuma, by the id of its entities.
func readKumaBackup(id string, text []byte) (*kumaData, error) {
	value, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the file is neither a JSON backup nor a SQLite database of Uptime Kuma: %w", err)
	}
	top, _ := value.(map[string]any)
	backup := kumaRow(top)
	if backup["monitorList"] == nil && backup["notificationList"] == nil {
		entities, err := entitiesOf(id, value)
		if err == nil && len(entities) == 0 {
			err = errors.New("the file has neither monitorList nor notificationList, and is no list of monitors, so it is not of Uptime Kuma")
		}
		if err != nil {
			return nil, err
		}
		return readKumaEntities(entities), nil
	}
	data := &kumaData{backup: true, version: backup.line("version"), settings: map[string]string{}, others: map[string]int64{}}
	var proxies []kumaRow
	for _, object := range kumaObjects(backup["monitorList"]) {
		data.monitors = append(data.monitors, backupMonitor(object))
	}
	for _, object := range kumaObjects(backup["notificationList"]) {
		row := kumaColumns(object)
		row[kumaConfig] = row.object("config")
		data.notifications = append(data.notifications, row)
	}
	for _, object := range kumaObjects(backup["maintenanceList"]) {
		data.maintenance = append(data.maintenance, backupMaintenance(object))
	}
	for _, object := range kumaObjects(backup["proxyList"]) {
		proxies = append(proxies, kumaColumns(object))
	}
	data.proxies = proxiesByID(proxies)
	sortByID(data.monitors)
	sortByID(data.notifications)
	sortByID(data.maintenance)
	return data, nil
}

// kumaObjects returns the objects of a list, or of an object that has them by their ids.
func kumaObjects(value any) []map[string]any {
	var items []any
	switch value := value.(type) {
	case []any:
		items = value
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			items = append(items, value[key])
		}
	}
	var objects []map[string]any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// backupMonitor reads a monitor: the backup has lists and objects where the database has
// texts, and what other tables say of it.
func backupMonitor(object map[string]any) kumaRow {
	row := kumaColumns(object)
	if list, ok := object["accepted_statuscodes"]; ok {
		row["accepted_statuscodes_json"] = list
	}
	var tags []kumaRow
	for _, tag := range row.rows("tags") {
		tags = append(tags, kumaColumns(tag))
	}
	row[kumaTags] = tags
	row[kumaNotifications] = kumaIDs(object["notificationIDList"])
	return row
}

// kumaIDs reads {"1": true, "3": false}, or a list of numbers or of objects with an id.
func kumaIDs(value any) []int64 {
	var ids []int64
	switch value := value.(type) {
	case map[string]any:
		for key, used := range value {
			if id, err := strconv.ParseInt(key, 10, 64); err == nil && used != false {
				ids = append(ids, id)
			}
		}
	case []any:
		for _, item := range value {
			row := kumaRow{"id": item}
			if object, ok := item.(map[string]any); ok {
				row = object
			}
			if id := row.id("id"); id != 0 {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// backupMaintenance reads a maintenance in the form of Kuma's interface, which some tools
// add to a backup.
func backupMaintenance(object map[string]any) kumaRow {
	row := kumaColumns(object)
	at := func(list string, i int) any {
		if items := row.list(list); i < len(items) {
			return items[i]
		}
		return nil
	}
	clock := func(i int) any {
		time, ok := at("time_range", i).(map[string]any)
		if !ok {
			return nil
		}
		return fmt.Sprintf("%02d:%02d", kumaRow(time).whole("hours", 0), kumaRow(time).whole("minutes", 0))
	}
	row["start_date"], row["end_date"] = at("date_range", 0), at("date_range", 1)
	row["start_time"], row["end_time"] = clock(0), clock(1)
	if row.text("timezone_option") != "" {
		row["timezone"] = row["timezone_option"]
	}
	if minutes := row.whole("duration_minutes", 0); minutes > 0 {
		row["duration"] = minutes * 60
	}
	monitors := object["monitors"]
	if monitors == nil {
		monitors = object["monitorIDList"]
	}
	row[kumaMonitors] = kumaIDs(monitors)
	return row
}
