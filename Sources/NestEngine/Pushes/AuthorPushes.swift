import NestModel
import NestProtocol
import NestStore

/// Notifies connections, before diffs, who wrote the revisions that the diffs contain. Only connections that asked for
/// it, and only those that get a diff. A message is encoded once for all connections of the same reach.
struct AuthorPushes {
    /// The authors that precede net differences. They may span very many revisions.
    private static let netAuthorsMax = 128

    let store: Store
    let connections: EngineConnections
    let subscriptions: Subscriptions
    let admission: Admission
    let authors: RevisionAuthors

    /// Inserts the authors of the revisions after `base` before the diffs of their batch, which begin at `start`.
    func push(after base: Revision, before start: Int, _ effects: inout [EngineEffect]) throws(StoreError) {
        guard self.connections.authorFollowerCount > 0 else { return }
        var seen: Set<ConnectionID> = []
        var recipients: [AuthorisationScope: [ConnectionID]] = [:]
        var scopes: [AuthorisationScope] = []
        for case .push(let push, let ids) in effects[start...] {
            guard case .diff = push.content else { continue }
            for id in ids {
                guard let connection = self.connections[id], connection.followsAuthors, seen.insert(id).inserted else {
                    continue
                }
                connection.namedAuthors = NamedAuthors(base: base, head: self.store.head)
                if recipients[connection.scope] == nil { scopes.append(connection.scope) }
                recipients[connection.scope, default: []].append(id)
            }
        }
        guard !scopes.isEmpty else { return }
        // Read once for all scopes.
        let headers = try self.authors.headers(after: base, countMax: Limits.historyPageMax)
        var messages: [EngineEffect] = []
        for scope in scopes {
            let authors = RevisionAuthors.authors(of: headers, for: scope)
            if !authors.isEmpty { messages.append(.authors(Authors(authors).body, to: recipients[scope] ?? [])) }
        }
        effects.insert(contentsOf: messages, at: start)
    }

    /// Appends the authors of the newest revisions after `base`, before a net difference, unless the connection has
    /// them already. They also serve the net differences of its other lagging subscriptions.
    func push(after base: Revision, to id: ConnectionID, _ effects: inout [EngineEffect]) throws(StoreError) {
        guard let connection = self.connections[id], connection.followsAuthors else { return }
        let head = self.store.head
        if let named = connection.namedAuthors, named.head == head, named.base <= base { return }
        let base = self.laggingBases(of: connection).reduce(base, min)
        let headers = try self.authors.headers(after: base, countMax: Self.netAuthorsMax)
        connection.namedAuthors = NamedAuthors(base: base, head: head)
        let authors = RevisionAuthors.authors(of: headers, for: connection.scope)
        guard !authors.isEmpty else { return }
        let body = Authors(authors).body
        effects.append(.authors(body, to: [id]))
        self.admission.charge(body.count, to: connection, &effects)
    }

    /// The revisions from which the lagging subscriptions of a connection will get their net differences.
    private func laggingBases(of connection: EngineConnection) -> [Revision] {
        connection.views.compactMap { id in
            let state = self.subscriptions[id]?.subscribers[connection.id]
            return if case .lagging(let base, _, _)? = state { base } else { nil }
        }
    }
}

/// The revisions whose authors the last AUTHORS of a connection named: the newest after `base`, through `head`.
struct NamedAuthors {
    var base: Revision
    var head: Revision
}
