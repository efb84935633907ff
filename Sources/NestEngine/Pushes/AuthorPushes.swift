import NestModel
import NestProtocol
import NestStore

/// Notifies connections, before diffs, who wrote the revisions that the diffs contain. Only connections that asked for
/// it, and only those that get a diff. A message is encoded once for all connections of the same reach.
struct AuthorPushes {
    /// The authors that precede one net difference. It may span very many revisions.
    private static let netAuthorsMax = 128

    let store: Store
    let connections: EngineConnections

    private var authors: RevisionAuthors { RevisionAuthors(store: self.store) }

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
                if recipients[connection.scope] == nil { scopes.append(connection.scope) }
                recipients[connection.scope, default: []].append(id)
            }
        }
        var messages: [EngineEffect] = []
        for scope in scopes {
            let authors = try self.authors.authors(after: base, countMax: Limits.historyPageMax, for: scope)
            if !authors.isEmpty { messages.append(.authors(Authors(authors).body, to: recipients[scope] ?? [])) }
        }
        effects.insert(contentsOf: messages, at: start)
    }

    /// Appends the authors of the newest revisions after `base`, before a net difference.
    func push(after base: Revision, to id: ConnectionID, _ effects: inout [EngineEffect]) throws(StoreError) {
        guard let connection = self.connections[id], connection.followsAuthors else { return }
        let authors = try self.authors.authors(after: base, countMax: Self.netAuthorsMax, for: connection.scope)
        if !authors.isEmpty { effects.append(.authors(Authors(authors).body, to: [id])) }
    }
}
