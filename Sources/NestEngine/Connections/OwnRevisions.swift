import NestModel
import NestProtocol

/// Notifies connections, before the diffs of a batch, which of its revisions are their own writes. The receipts contain
/// these revisions too, but follow after the diffs.
struct OwnRevisions {
    let connections: EngineConnections

    /// Notifies the connections that wrote in a batch. A blocked connection is notified when it drains; one whose
    /// requests are named, at once: before any state that has the write.
    func push(of writes: [WriteRequest], _ outcomes: [Commit.Outcome], _ effects: inout [EngineEffect]) {
        var own = Own()
        for index in writes.indices {
            guard self.isNotified(writes[index].connection),
                case .answered(.receipt(let receipt)) = outcomes[index]
            else { continue }
            own.note(receipt, writes[index].requestID, of: writes[index].connection)
        }
        for list in own.lists { self.append(list.writes, to: list.id, &effects) }
    }

    /// Notifies the connections whose forwarded writes are in applied records.
    func push(of forwarded: [AppliedPush.Forwarded], _ effects: inout [EngineEffect]) {
        var own = Own()
        for (id, forward, receipt) in forwarded where self.isNotified(id) {
            own.note(receipt, forward.requestID, of: id)
        }
        for list in own.lists { self.append(list.writes.sorted { $0.revision < $1.revision }, to: list.id, &effects) }
    }

    /// The writes of each connection, in the order of their first writes.
    private struct Own {
        private(set) var lists: [(id: ConnectionID, writes: [OwnWrite])] = []
        private var indexes: [ConnectionID: Int] = [:]

        mutating func note(_ receipt: Receipt, _ requestID: UInt32, of id: ConnectionID) {
            guard receipt.hasOwnWrites else { return }
            // Mostly the connection of the write before.
            let isLast = self.lists.last.map { $0.id == id } ?? false
            let index = isLast ? self.lists.count - 1 : self.indexes[id] ?? self.lists.count
            if index == self.lists.count {
                self.lists.append((id, []))
                self.indexes[id] = index
            }
            receipt.append(to: &self.lists[index].writes, requestID)
        }
    }

    private func isNotified(_ id: ConnectionID) -> Bool {
        guard let connection = self.connections.recent(id) else { return false }
        return connection.namesOwnRequests || !connection.views.isEmpty && !connection.isBlocked
    }

    /// Notifies a connection of its own writes whose replies wait for its net differences.
    func pushHeld(by connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard !connection.namesOwnRequests, !connection.views.isEmpty else { return }
        var own: [OwnWrite] = []
        for held in connection.heldReplies {
            if case .receipt(let receipt) = held.reply { receipt.append(to: &own, held.requestID) }
        }
        self.append(own, to: connection.id, &effects)
    }

    /// Appends as many messages as the revisions need: one names at most as many as a connection has requests in
    /// flight, and an undo of a long group has one revision for each of its transactions.
    private func append(_ own: [OwnWrite], to connection: ConnectionID, _ effects: inout [EngineEffect]) {
        let countMax = Limits.requestsInFlightPerConnectionMax
        let namesRequests = self.connections.recent(connection)?.namesOwnRequests == true
        for start in stride(from: 0, to: own.count, by: countMax) {
            let part = own.count <= countMax ? own : Array(own[start..<min(start + countMax, own.count)])
            effects.append(.own(OwnMessage(part, namesRequests: namesRequests), to: connection))
        }
    }
}

extension Receipt {
    /// Whether the write changed something, and the receipt is not replayed.
    fileprivate var hasOwnWrites: Bool { self.isChanged && !self.isReplayed }

    /// Appends the revisions of the write, if it has any.
    fileprivate func append(to own: inout [OwnWrite], _ requestID: UInt32) {
        guard self.hasOwnWrites else { return }
        for number in (0..<self.revisionCount).reversed() {
            own.append(OwnWrite(revision: Revision(self.revision.rawValue - UInt64(number)), requestID: requestID))
        }
    }
}
