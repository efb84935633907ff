import NIOCore
import NestClient
import NestModel
import NestProtocol
import Testing

/// An outline of which a confined client sees one sub-tree. The titles of all objects outside contain `mark`.
///
///     1 ── inside 2 ── a 3 ── b 4
///      │            └── c 5
///      ├── SECRET 6 ── SECRET 7
///      └── SECRET 8
struct ConfinedWorld {
    static let mark = "SECRET"
    static let root = ObjectID(2)
    static let below = ObjectID(3)
    static let deep = ObjectID(4)
    static let leaf = ObjectID(5)
    static let outside = [ObjectID(1), ObjectID(6), ObjectID(7), ObjectID(8)]
    /// An id that no object has. It is encoded in as many bytes as the others.
    static let nowhere = ObjectID(50)
    static let grant = AccessConfinement(
        root: Self.root,
        entity: EntityNumber(1),
        relationship: PropertyNumber(6)
    )

    let port: Int
    let admin: NestClient
    let token: AccessToken

    static func with(_ body: (ConfinedWorld) async throws -> Void) async throws {
        try await withTokens { port, admin, _ in
            for (title, parent) in [
                ("inside", 1), ("a", 2), ("b", 3), ("c", 2), ("\(Self.mark) d", 1), ("\(Self.mark) e", 6),
                ("\(Self.mark) f", 1),
            ] {
                _ = try await admin.transaction(
                    WriteTransaction(mutations: [Self.insert(title, ObjectID(Int64(parent)))])
                )
            }
            let grant = TokenGrant(name: "guest", role: .write, confinement: Self.grant)
            let token = try await admin.createToken(grant)
            try await body(ConfinedWorld(port: port, admin: admin, token: token))
        }
    }

    /// Runs `body` with the confined client.
    func guest(_ body: (NestClient) async throws -> Void) async throws {
        try await NestClient.withClient(ClientConfiguration(port: self.port, session: .fresh, token: self.token), body)
    }

    /// Returns a raw connection with the confined token.
    func raw() throws -> ServerRawConnection {
        let connection = try ServerRawConnection.knocking(port: self.port, self.token)
        let welcome = try connection.expect(Welcome.self, id: 0)
        #expect(welcome.role == .write && welcome.confinement == Self.grant)
        return connection
    }

    static let title = PropertyNumber(1)
    static let parent = PropertyNumber(5)
    static let children = PropertyNumber(6)
    static let item = EntityNumber(1)

    static func insert(_ title: String, _ parent: ObjectID, _ place: Place = .last) -> Mutation {
        .insert(
            entity: self.item,
            values: [PropertyAssignment(self.title, .value(.string(title)))],
            placements: [self.under(parent, place)]
        )
    }

    static func under(_ owner: ObjectID, _ place: Place = .last) -> Placement {
        Placement(relationship: self.parent, owner: .object(owner), place: place)
    }

    static func rename(_ id: ObjectID, _ title: String) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(self.title, .value(.string(title)))])
    }

    static func reparent(_ id: ObjectID, _ parent: ObjectID) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(self.parent, .reference(.object(parent)))])
    }

    static func children(of id: ObjectID) -> ObjectFetchRequest {
        ObjectFetchRequest(entity: self.item, source: FetchSource(object: id, relationship: self.children))
    }

    static func fetch(_ comparison: Comparison) -> ObjectFetchRequest {
        ObjectFetchRequest(entity: self.item, predicate: FetchPredicate(comparison))
    }
}
