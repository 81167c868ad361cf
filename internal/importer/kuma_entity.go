// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kumaEntity is a monitor of a list, or anything that a file of AutoKuma describes.
type kumaEntity struct {
	// id is the name by which other entities of AutoKuma mean it: the path of its file without the
	// ending, and for one of a list its place, such as shop[0].
	id     string
	object map[string]any
}

// Members of rows that are not columns.
const kumaLostMembers = "+lost" // losses that are known before the check is made

// entityReader turns entities into rows.
type entityReader struct {
	data *kumaData
	// ids are the numbers of monitors and notifications by the ids of AutoKuma, and names those of tags.
	monitors, notifications map[string]int64
	tags                    map[string]kumaRow
	taken                   map[int64]bool
	last                    int64
}

// entityKind says what an entity is: monitor, notification, tag, or another type of AutoKuma. The
// interface of Kuma gives notifications without a type of their own.
func entityKind(object map[string]any) string {
	row := kumaRow(object)
	switch kind := row.line("type"); {
	case kind == "notification" || kind == "tag" || kind == "docker_host" || kind == "status_page":
		return kind
	case object["isDefault"] != nil || kind == "" && object["config"] != nil:
		return "notification"
	}
	return "monitor"
}

// readKumaEntities makes rows of entities. What others name gets its number first.
func readKumaEntities(entities []kumaEntity) *kumaData {
	r := &entityReader{
		data:     &kumaData{settings: map[string]string{}, others: map[string]int64{}},
		monitors: map[string]int64{}, notifications: map[string]int64{}, tags: map[string]kumaRow{}, taken: map[int64]bool{},
	}
	for _, one := range entities {
		id := kumaRow(one.object).id("id")
		r.data.backup = r.data.backup || id != 0
		r.last = max(r.last, id)
	}
	numbers := make([]int64, len(entities))
	for i, one := range entities {
		numbers[i] = r.number(one)
		switch entityKind(one.object) {
		case "monitor":
			r.monitors[one.id] = numbers[i]
		case "notification":
			r.notifications[one.id] = numbers[i]
		case "tag":
			r.tags[one.id] = kumaColumns(one.object)
		}
	}
	for i, one := range entities {
		r.add(one, numbers[i])
	}
	r.data.list = true
	sortByID(r.data.monitors)
	sortByID(r.data.notifications)
	return r.data
}

// number returns the number of an entity, a new one when it has none or another of its kind has it.
func (r *entityReader) number(one kumaEntity) int64 {
	id := kumaRow(one.object).id("id")
	if entityKind(one.object) != "monitor" && id != 0 {
		return id // notifications have numbers of their own
	}
	if id <= 0 || r.taken[id] {
		r.last++
		id = r.last
	}
	r.taken[id] = true
	return id
}

func (r *entityReader) add(one kumaEntity, id int64) {
	switch kind := entityKind(one.object); kind {
	case "monitor":
		r.data.monitors = append(r.data.monitors, r.monitor(one, id))
	case "notification":
		row := kumaColumns(one.object)
		row["id"] = id
		config := row.object("config")
		if config == nil { // the interface gives its members beside those of the notification
			config = kumaRow(one.object)
		}
		row[kumaConfig] = config
		r.data.notifications = append(r.data.notifications, row)
	case "tag":
	default:
		r.data.others[kind]++
	}
}

// monitor reads a monitor: what it names becomes the numbers of those.
func (r *entityReader) monitor(one kumaEntity, id int64) kumaRow {
	object := maps.Clone(one.object)
	for alias, name := range map[string]string{
		"max_retries": "maxretries", "max_redirects": "maxredirects", "notification_id_list": "notificationIDList",
		"security": "smtp_security", "query": "database_query", "oid": "snmp_oid", "version": "snmp_version",
	} {
		if value, ok := object[alias]; ok && object[name] == nil {
			object[name] = value
			delete(object, alias)
		}
	}
	if text, ok := object["accepted_statuscodes"].(string); ok {
		object["accepted_statuscodes"] = []any{text}
	}
	row := backupMonitor(object)
	row["id"] = id
	if row.line("name") == "" {
		row["name"] = one.id
	}
	if kumaRow(one.object).id("id") != 0 {
		return row
	}
	r.resolve(row)
	return row
}

// resolve reads what only AutoKuma has.
func (r *entityReader) resolve(row kumaRow) {
	var lost []Loss
	if name := row.line("parent_name"); name != "" {
		if parent, ok := r.monitors[name]; ok {
			row["parent"] = parent
		} else {
			lost = append(lost, Loss{"parent_name: " + name, "no file has this id"})
		}
	}
	notifications := row.ids(kumaNotifications)
	for _, item := range row.list("notification_name_list") {
		name := kumaRow{"": item}.line("")
		if number, ok := r.notifications[name]; ok {
			notifications = append(notifications, number)
		} else {
			notifications = append(notifications, r.unknown(name))
		}
	}
	row[kumaNotifications] = notifications
	tags := row.below(kumaTags)
	for i, use := range row.rows("tag_names") {
		name := use.line("name")
		tag := kumaRow{"tag_id": int64(i + 1), "name": name, "value": use.text("value")}
		if known := r.tags[name]; known != nil {
			tag["name"], tag["color"] = cmpText(known.line("name"), name), known.text("color")
		}
		tags = append(tags, tag)
	}
	row[kumaTags] = tags
	if row.flag("create_paused", false) {
		row["active"] = false
	}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if text := row.text(name); strings.Contains(text, "{{") || strings.Contains(text, "{%") {
			lost = append(lost, Loss{name, "AutoKuma fills its template in; the text is carried over as it is written"})
		}
	}
	row[kumaLostMembers] = lost
}

// unknown returns the id of a notification that is named and not there.
func (r *entityReader) unknown(name string) int64 {
	id, ok := r.notifications[name]
	if !ok {
		if r.data.unknown == nil {
			r.data.unknown = map[int64]string{}
		}
		id = -int64(len(r.data.unknown)) - 1
		r.notifications[name], r.data.unknown[id] = id, "notification_name_list: "+name
	}
	return id
}

func cmpText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// entitiesOf returns the entities of a value of JSON or TOML: one, a list, or an object that has
// monitors by their ids. None: it is something else.
func entitiesOf(id string, value any) ([]kumaEntity, error) {
	switch value := value.(type) {
	case map[string]any:
		if _, ok := value["type"].(string); ok {
			return []kumaEntity{{id, value}}, nil
		}
		var entities []kumaEntity
		for _, key := range slices.SortedFunc(maps.Keys(value), byNumber) {
			object, ok := value[key].(map[string]any)
			if _, err := strconv.ParseInt(key, 10, 64); err != nil || !ok {
				return nil, nil
			}
			entities = append(entities, kumaEntity{key, object})
		}
		return entities, nil
	case []any:
		entities := make([]kumaEntity, 0, len(value))
		for i, item := range value {
			object, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("item %d of the list is no object", i+1)
			}
			entities = append(entities, kumaEntity{fmt.Sprintf("%s[%d]", id, i), object})
		}
		return entities, nil
	}
	return nil, nil
}

// byNumber compares numbers as texts, shorter ones first.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
