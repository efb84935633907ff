import NestModel
import NestTestSupport
import NestSchema

@testable import NestStore

/// Only the store's own connection sees an open transaction.
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

    /// Returns the state after a change set, which must contain every difference. `faults`: the errors of the change
    /// set about the state before.
    func applying(_ changes: ChangeSet, of store: Store) throws -> (state: StoredState, faults: [String]) {
        var state = self
        var faults: [String] = []
        var seen: Set<ObjectID> = []
        try store.access {
            try store.forEachChangedObject(changes) { object in
                let index = self.layout.index(of: object.entity)!
                if !seen.insert(object.id).inserted { faults.append("\(object.id) is in the change set twice") }
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
