import NestModel
import NestProtocol

/// One or several transactions that are undone together.
package struct NaiveUndoEntry: Equatable {
    /// The revisions of the transactions, ascending.
    package var revisions: [Revision]
    package var name: String

    package init(revisions: [Revision], name: String) {
        self.revisions = revisions
        self.name = name
    }

    package var state: UndoState.Entry {
        UndoState.Entry(revision: self.revisions.last!, name: self.name, transactionCount: self.revisions.count)
    }
}

/// The stacks of one session, newest last, and the state that decides which writes form one entry.
package struct NaiveUndoStacks: Equatable {
    package struct Group: Equatable {
        package var number: UInt64
        package var opener: UInt64
        package var name: String?
        package var lastWrite: Int64
        /// The newest transaction of the group's entry, once there is one.
        package var newest: Revision?
    }

    package struct Newest: Equatable {
        package var revision: Revision
        package var key: String?
        package var time: Int64
    }

    package var undo: [NaiveUndoEntry] = []
    package var redo: [NaiveUndoEntry] = []
    package var blocked: [NaiveUndoEntry] = []
    package var groups: [Group] = []
    /// The group of each connection.
    package var groupOf: [UInt64: UInt64] = [:]
    /// The session's newest transaction, of any kind.
    package var newest: Newest?

    package init() {}

    package func state(of connection: UInt64) -> UndoState {
        UndoState(
            undo: self.undo.last?.state,
            redo: self.redo.last?.state,
            undoCount: self.undo.count,
            redoCount: self.redo.count,
            blockedCount: self.blocked.count,
            droppedCount: 0,
            group: self.groupOf[connection]
        )
    }

    // MARK: Writes

    /// Records a write that changed something. `name`: the group's name if it has one, otherwise the transaction's.
    package mutating func write(
        _ revision: Revision,
        name: String,
        _ coalescing: Coalescing?,
        connection: UInt64,
        time: Int64
    ) {
        self.redo = []
        let group = self.groupOf[connection].flatMap { number in self.groups.firstIndex { $0.number == number } }
        var joined: Int?
        if let group {
            joined = self.groups[group].newest.flatMap { newest in
                self.undo.firstIndex { $0.revisions.last == newest }
            }
            self.groups[group].newest = revision
            self.groups[group].lastWrite = time
        } else if let coalescing, let newest = self.newest, newest.key == coalescing.key,
            time - newest.time <= Int64(coalescing.milliseconds) * 1_000
        {
            joined = self.undo.firstIndex { $0.revisions.last == newest.revision }
        }
        self.newest = Newest(revision: revision, key: group == nil ? coalescing?.key : nil, time: time)
        guard let joined, self.undo[joined].revisions.count < Limits.undoEntryTransactionsMax else {
            return self.undo.append(NaiveUndoEntry(revisions: [revision], name: name))
        }
        // Entries are ordered by their newest transaction.
        var entry = self.undo.remove(at: joined)
        entry.revisions.append(revision)
        entry.name = name
        self.undo.append(entry)
    }

    /// Records an undo or redo of the newest entry, which made these revisions; none if it changed nothing.
    package mutating func takeBack(isUndo: Bool, _ revisions: [Revision], time: Int64) {
        guard let entry = isUndo ? self.undo.popLast() : self.redo.popLast() else { return }
        guard !revisions.isEmpty else { return self.blocked.append(entry) }
        let inverse = NaiveUndoEntry(revisions: revisions, name: entry.name)
        if isUndo { self.redo.append(inverse) } else { self.undo.append(inverse) }
        self.newest = Newest(revision: revisions.last!, key: nil, time: time)
    }

    package mutating func revert(_ revision: Revision, name: String, time: Int64) {
        self.redo = []
        self.undo.append(NaiveUndoEntry(revisions: [revision], name: name))
        self.newest = Newest(revision: revision, key: nil, time: time)
    }

    // MARK: Groups

    package mutating func begin(_ number: UInt64, name: String?, connection: UInt64, time: Int64) {
        self.groups.append(Group(number: number, opener: connection, name: name, lastWrite: time))
        self.groupOf[connection] = number
    }

    package mutating func join(_ number: UInt64, connection: UInt64) {
        self.groupOf[connection] = number
    }

    /// Removes a connection from its group. If the connection opened the group, the group ends.
    package mutating func leave(_ connection: UInt64) {
        guard let number = self.groupOf.removeValue(forKey: connection) else { return }
        guard self.groups.contains(where: { $0.number == number && $0.opener == connection }) else { return }
        self.close(number)
    }

    package mutating func timeOut(now: Int64) {
        for group in self.groups where now - group.lastWrite > Int64(Limits.undoGroupSeconds) * 1_000_000 {
            self.close(group.number)
        }
    }

    private mutating func close(_ number: UInt64) {
        self.groups.removeAll { $0.number == number }
        self.groupOf = self.groupOf.filter { $0.value != number }
    }

    /// Records a restart, which ends all connections and groups. Undo coalescing continues.
    package mutating func restart() {
        self.groups = []
        self.groupOf = [:]
    }
}
