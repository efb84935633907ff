import NestModel
import NestTestSupport

@testable import NestStore

/// Every row of every table of a store, pairs and positions too, read by plain SQL.
struct StoredState: Equatable {
    let layout: ModelLayout
    /// By table, in the order of the layouts.
    var tables: [[ObjectID: ObjectRow]]

    static func == (a: StoredState, b: StoredState) -> Bool { a.tables == b.tables }

    init(_ store: Store) throws {
        self.layout = store.layout
        self.tables = try store.access { try store.layout.entities.map { try Self.rows($0, store.connection) } }
    }

    private static func rows(_ layout: EntityLayout, _ connection: Connection) throws -> [ObjectID: ObjectRow] {
        var columns = ["id", "nest_revision", layout.hasKinds ? "nest_entity" : "\(layout.number.rawValue)"]
        columns += layout.columnNames.map { "\"\($0)\"" }
        for slot in layout.placedSlots {
            let name = layout.columnNames[slot]
            columns += ["ifnull(\"nest_\(name)_position\", 0)", "ifnull(\"nest_\(name)_placed\", 0)"]
        }
        let statement = try connection.statement("SELECT \(columns.joined(separator: ", ")) FROM \"\(layout.name)\"")
        defer { statement.reset() }
        var rows: [ObjectID: ObjectRow] = [:]
        while try statement.step() {
            let slots = Int32(layout.slots.count)
            rows[statement.objectID(0)] = ObjectRow(
                entity: EntityNumber(UInt16(statement.integer(2))),
                revision: Revision(UInt64(statement.integer(1))),
                values: layout.columns.enumerated().map { statement.value(Int32($0.offset) + 3, $0.element) },
                places: layout.placedSlots.indices.map { place in
                    let column = 3 + slots + Int32(place) * 2
                    let stamp = UInt64(statement.integer(column + 1))
                    return SparsePlace(position: statement.integer(column), stamp: stamp)
                }
            )
        }
        return rows
    }

    // MARK: As a graph

    /// The graph that the stored sides of relationships make: to-many sides are found by who points back, in order.
    var graph: NaiveGraph {
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

    // MARK: Change sets

    /// The state after a change set, which must tell every difference; `nil` with what it has wrong of the state before.
    func applying(_ changes: ChangeSet, of store: Store) throws -> (state: StoredState, faults: [String]) {
        var state = self
        var faults: [String] = []
        var seen: Set<ObjectID> = []
        try store.access {
            try store.forEachTouched(changes) { object in
                let index = self.layout.index(of: object.entity)!
                if !seen.insert(object.id).inserted { faults.append("\(object.id) is touched twice") }
                if state.tables[index][object.id] != object.before {
                    faults.append(
                        "\(object.id) was \(String(describing: state.tables[index][object.id])), not \(String(describing: object.before))"
                    )
                }
                state.tables[index][object.id] = object.after
            }
        }
        for move in changes.repositions {
            let index = self.layout.index(of: move.entity)!
            let layout = self.layout.entities[index]
            let place = layout.placedSlots.firstIndex(of: layout.slot(of: move.property)!)!
            if state.tables[index][move.id]?.places[place].position != move.oldPosition {
                faults.append("\(move.id) was not at \(move.oldPosition)")
            }
            state.tables[index][move.id]?.places[place].position = move.newPosition
        }
        return (state, faults)
    }

    /// What differs from another state, for messages.
    func differences(from other: StoredState) -> [String] {
        zip(self.tables, other.tables).flatMap { a, b in
            Set(a.keys).union(b.keys).sorted().filter { a[$0] != b[$0] }.map {
                "\($0): \(String(describing: a[$0])) and \(String(describing: b[$0]))"
            }
        }
    }
}
