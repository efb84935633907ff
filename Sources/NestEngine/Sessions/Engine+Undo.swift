import NestModel
import NestStore

/// Undo as connections see it: what they could undo, and what that would do.
extension Engine {
    // MARK: State

    func undoState(_ id: ConnectionID, follows: Bool) -> UndoState {
        guard let connection = self.connections[id] else { return UndoState() }
        let state = self.undoState(id, connection)
        connection.undoState = follows ? state : nil
        if follows { self.undoFollowers.insert(id) } else { self.undoFollowers.remove(id) }
        return state
    }

    private func undoState(_ id: ConnectionID, _ connection: Connection) -> UndoState {
        var state = self.sessions[connection.session].state(for: connection.scope)
        state.group = self.sessions.joins.group(of: id)?.number
        return state
    }

    /// Tells those who follow the undo state of a session that has changed.
    func tellUndoStates(_ effects: inout [EngineEffect]) {
        guard !self.sessions.changed.isEmpty else { return }
        let changed = self.sessions.changed
        self.sessions.changed.removeAll(keepingCapacity: true)
        guard !self.undoFollowers.isEmpty else { return }
        for id in self.undoFollowers.sorted() {
            guard let connection = self.connections[id], changed.contains(connection.session) else { continue }
            self.tellUndoState(id, connection, &effects)
        }
    }

    /// Tells a connection its undo state if that is another than it knows. One that does not drain is told when it does.
    func tellUndoState(_ id: ConnectionID, _ connection: Connection, _ effects: inout [EngineEffect]) {
        guard let told = connection.undoState, !connection.isBlocked else { return }
        let state = self.undoState(id, connection)
        guard state != told else { return }
        connection.undoState = state
        effects.append(.undoState(state, to: [id]))
    }

    // MARK: Preview

    /// What taking something back would do now: it is done, and rolled back.
    func preview(_ target: UndoTarget, _ options: UndoOptions, _ id: ConnectionID, now: Int64) throws -> UndoPreview {
        guard let connection = self.connections[id] else { return UndoPreview(name: "") }
        let session = connection.session
        let runner = UndoRunner(store: self.store)
        let confinement = try self.confinement(connection.scope)
        if confinement != nil, case .revert = target {
            throw NestError(.notPermitted, "a token that is confined to a sub-tree does not allow this")
        }
        let work = try runner.work(
            target,
            options,
            expected: nil,
            session,
            self.sessions[session],
            connection.scope
        )
        if let confinement { try runner.check(work, confinement) }
        let description = WriteDescription(name: work.name, key: nil, requestHash: 0, sessionNumber: session)
        let group = try self.store.beginGroup(time: now, alwaysSavepoint: true, isConcerned: { _ in false })
        do {
            let (results, conflicts) = try runner.run(work, description, confinement) { body in
                try group.request(
                    inSavepoint: true,
                    stepsMax: self.limits.previewStepsMax(connection.scope) - group.steps,
                    body
                )
            }
            var preview = UndoPreview(name: work.shownName, conflicts: conflicts)
            var changes = PreviewedChanges(self.store, self.changePages.sides)
            try changes.fill(&preview, from: results.map(\.changes))
            try group.rollback()
            return preview
        } catch {
            try group.rollback()
            throw (error as? WriteGroup.Spoiled)?.cause ?? error
        }
    }
}
