import NestModel
import NestSchema

/// Every row of every table of a store, including pairs and positions, read with plain SQL.
package struct StoredState: Equatable {
    package let layout: ModelLayout
    /// The rows by table, in the order of the layouts.
    package var tables: [[ObjectID: ObjectRow]]

    package static func == (a: StoredState, b: StoredState) -> Bool { a.tables == b.tables }

    package init(_ layout: ModelLayout, _ stored: some StoredTables) throws {
        self.layout = layout
        self.tables = try layout.entities.map { try Self.rows($0, stored) }
    }

    private static func rows(_ layout: EntityLayout, _ stored: some StoredTables) throws -> [ObjectID: ObjectRow] {
        var columns = ["id", "nest_revision", layout.hasKinds ? "nest_entity" : "\(layout.number.rawValue)"]
        columns += layout.columnNames.map { "\"\($0)\"" }
        for slot in layout.placedSlots {
            let name = layout.columnNames[slot]
            columns += ["ifnull(\"nest_\(name)_position\", 0)", "ifnull(\"nest_\(name)_placed\", 0)"]
        }
        let sql = "SELECT \(columns.joined(separator: ", ")) FROM \"\(layout.name)\""
        var rows: [ObjectID: ObjectRow] = [:]
        try stored.forEachRow(sql) { row in
            rows[row.id(0)] = ObjectRow(
                entity: EntityNumber(UInt16(row.integer(2))),
                revision: Revision(UInt64(row.integer(1))),
                values: layout.columns.enumerated().map { row.value($0.offset + 3, $0.element) },
                places: SparsePlaces(
                    layout.placedSlots.indices.map { place in
                        let column = 3 + layout.slots.count + place * 2
                        return SparsePlace(position: row.integer(column), stamp: UInt64(row.integer(column + 1)))
                    }
                )
            )
            return true
        }
        return rows
    }

    // MARK: As a graph

    /// The graph of the stored objects. The to-many sides of relationships are computed from the stored references and
    /// positions.
    package var graph: NaiveGraph {
        var graph = NaiveGraph(model: self.layout.model)
        for (layout, rows) in zip(self.layout.entities, self.tables) where !layout.isJoin {
            for (id, row) in rows {
                var object = NaiveGraph.Object(entity: row.entity)
                for attribute in graph.entity(row.entity).attributes {
                    object.values[attribute.number] = row.values[layout.slot(of: attribute.number)!]
                }
                graph.objects[id] = object
            }
        }
        for (id, object) in graph.objects {
            for relationship in graph.entity(object.entity).relationships {
                graph.objects[id]!.related[relationship.number] = self.related(id, object.entity, relationship)
            }
        }
        return graph
    }

    private func related(
        _ id: ObjectID,
        _ entity: EntityNumber,
        _ relationship: RelationshipDescription
    ) -> [ObjectID] {
        let layout = self.layout[entity]!
        if !relationship.isToMany {
            let row = self.tables[self.layout.index(of: entity)!][id]!
            return row.values[layout.slot(of: relationship.number)!].referenceValue.map { [$0] } ?? []
        }
        if let pairs = layout.manyToMany(relationship.number) {
            let rows = self.tables[self.layout.index(of: pairs.join)!]
            let own = rows.filter { $0.value.values[pairs.ownerSlot] == .reference(id) }
            let targets = own.map { ($0.value.values[pairs.targetSlot].referenceValue!, $0.value) }
            guard let place = pairs.ownerPlace else { return targets.map(\.0).sorted() }
            return targets.sorted { $0.1.places[place].position < $1.1.places[place].position }.map(\.0)
        }
        let toMany = layout.toMany(relationship.number)!
        let rows = self.tables[self.layout.index(of: toMany.destination)!]
        let own = rows.filter { $0.value.values[toMany.inverseSlot] == .reference(id) }
        guard let place = toMany.inversePlace else { return own.map(\.key).sorted() }
        return own.sorted { $0.value.places[place].position < $1.value.places[place].position }.map(\.key)
    }

    /// Returns the row of an object.
    package func row(_ id: ObjectID) -> ObjectRow? {
        zip(self.layout.entities, self.tables).lazy.filter { !$0.0.isJoin }.compactMap { $0.1[id] }.first
    }

    /// Returns the differences from another state, for messages.
    package func differences(from other: StoredState) -> [String] {
        zip(self.tables, other.tables).flatMap { a, b in
            Set(a.keys).union(b.keys).sorted().filter { a[$0] != b[$0] }.map {
                "\($0): \(String(describing: a[$0])) and \(String(describing: b[$0]))"
            }
        }
    }
}
