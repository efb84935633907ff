import NestModel
import NestTestSupport
import NestSchema

@testable import NestStore

/// What is in the middle of a transaction is seen by the store's own connection only.
extension Store: StoredTables {
    package func forEachRow(_ sql: String, _ body: (StoredRow) throws -> Bool) throws {
        try self.access {
            let statement = try self.connection.statement(sql)
            defer { statement.reset() }
            while try statement.step() {
                if try !body(StoredRow(statement.handle)) { return }
            }
        }
    }
}

extension StoredState {
    init(_ store: Store) throws {
        try self.init(store.layout, store)
    }

    /// The state after a change set, which must tell every difference; `nil` with what it has wrong of the state
    /// before.
    func applying(_ changes: ChangeSet, of store: Store) throws -> (state: StoredState, faults: [String]) {
        var state = self
        var faults: [String] = []
        var seen: Set<ObjectID> = []
        try store.access {
            try store.forEachChangedObject(changes) { object in
                let index = self.layout.index(of: object.entity)!
                if !seen.insert(object.id).inserted { faults.append("\(object.id) is touched twice") }
                if state.tables[index][object.id] != object.before {
                    faults.append(
                        "\(object.id) was \(String(describing: state.tables[index][object.id])), not "
                            + "\(String(describing: object.before))"
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
}
