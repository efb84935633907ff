import NestModel
import NestStore

/// Sends progress marks to connections whose subscriptions are all exact at the head.
struct ProgressMarks {
    let connections: EngineConnections
    let store: Store

    func push(to ids: some Sequence<ConnectionID>, _ effects: inout [EngineEffect]) {
        var due: [ConnectionID] = []
        self.note(ids, &due)
        self.push(due, &effects)
    }

    func push(_ due: [ConnectionID], _ effects: inout [EngineEffect]) {
        if !due.isEmpty { effects.append(.progress(self.store.head, to: due)) }
    }

    /// Adds to `due` the connections that get a mark of the head now, each once.
    func note(_ ids: some Sequence<ConnectionID>, _ due: inout [ConnectionID]) {
        let head = self.store.head
        for id in ids { self.note(self.connections[id], head, &due) }
    }

    /// As `note`, for connections with requests in the batch.
    func note(writers: [ConnectionID], _ due: inout [ConnectionID]) {
        let head = self.store.head
        for id in writers { self.note(self.connections.recent(id), head, &due) }
    }

    @inline(__always)
    private func note(_ connection: EngineConnection?, _ head: Revision, _ due: inout [ConnectionID]) {
        guard let connection, !connection.isWaiting, connection.progress < head,
            !connection.views.isEmpty || !connection.changeSubscriptions.isEmpty,
            connection.changeSubscriptions.allSatisfy({ $0.cursor.revision == head })
        else { return }
        connection.progress = head
        due.append(connection.id)
    }
}
