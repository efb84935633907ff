import NestClient
import NestModel
import NestServerTestSupport
import NestServer
import NestStore
import NestTestSupport
import Testing

/// A confined token in a model with relationships that leave the token's hierarchy or reveal objects outside it.
extension SocketTests {
    struct ConfinedModels {
        private struct Grove {
            let node: NamedEntity
            let admin: NestClient
            let guest: NestClient
            let root: ObjectID
            let child: ObjectID
            let person: ObjectID
        }

        /// The administrator and the guest share one session.
        private func with(_ body: (Grove) async throws -> Void) async throws {
            let model = try ModelDraft.orchard.compile()
            try await withServer {
                $0.store.model = model
            } _: { port, _ in
                let token = try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) {
                    client in
                    try await client.createToken(TokenGrant(name: "admin", role: .admin))
                }
                let session = Identifier128(high: 7, low: 7)
                let configuration = ClientConfiguration(port: port, session: .secret(session), token: token)
                try await NestClient.withClient(configuration) { admin in
                    let node = try await admin.entity("Node")
                    let person = try await admin.entity("Person")
                    let keeper = try await self.insert(admin, person, ["name": "SECRET"])
                    let root = try await self.insert(admin, node, ["title": "root", "code": "a"])
                    _ = try await self.insert(admin, node, ["title": "SECRET", "code": "taken"])
                    let child = try await self.insert(admin, node, ["title": "child", "parent": root])
                    let grant = TokenGrant(
                        name: "guest",
                        role: .write,
                        confinement: AccessConfinement(
                            root: root,
                            entity: node.number,
                            relationship: try node.property("children")
                        )
                    )
                    let guestToken = try await admin.createToken(grant)
                    let guest = ClientConfiguration(port: port, session: .secret(session), token: guestToken)
                    try await NestClient.withClient(guest) { guest in
                        try await body(
                            Grove(node: node, admin: admin, guest: guest, root: root, child: child, person: keeper)
                        )
                    }
                }
            }
        }

        private func insert(
            _ client: NestClient,
            _ entity: NamedEntity,
            _ values: KeyValuePairs<String, any MutationValueConvertible>
        ) async throws -> ObjectID {
            try await client.transaction(WriteTransaction(mutations: [try self.insertion(entity, values)])).insertedIDs[
                0
            ]
        }

        private func insertion(
            _ entity: NamedEntity,
            _ values: KeyValuePairs<String, any MutationValueConvertible>
        ) throws -> Mutation {
            .insert(entity: entity.number, values: try entity.values(values), placements: [])
        }

        private func update(
            _ grove: Grove,
            _ values: KeyValuePairs<String, any MutationValueConvertible>
        ) throws -> WriteTransaction {
            WriteTransaction(mutations: [.update(.object(grove.child), values: try grove.node.values(values))])
        }

        @Test func relationshipsOutOfAScopeAreNotPermitted() async throws {
            try await self.with { grove in
                let (node, guest) = (grove.node, grove.guest)
                let refused = [
                    try node.request(), try node.request(sort: "keeper.name", properties: ["title"]),
                    try node.request(properties: ["title", "keeper.name"]),
                    try node.request(properties: ["title", "tags.@count"]),
                    try node.request(properties: ["title", "tags.@max.name"]),
                    try node.request(sort: "-parent.parent.children.@max.title", properties: ["title"]),
                    try node.request(where: "keeper.name == 'SECRET'", properties: ["title"]),
                    try node.request(where: "ANY tags.name == 'x'", properties: ["title"]),
                    try node.request(where: "keeper == \(grove.person)", properties: ["title"]),
                    try node.request(where: "parent.parent.title == 'x'", properties: ["title"]),
                ]
                for request in refused {
                    #expect(await refusal { _ = try await guest.fetch(request.request) }?.code == .notPermitted)
                }
                let allowed = try node.request(
                    where: "parent.title == 'root' AND children.@count == 0",
                    sort: "parent.title,title",
                    properties: ["title", "code", "parent", "children.@count", "parent.children.@max.title"]
                )
                #expect(try await guest.fetch(allowed.request).sections.flatMap(\.rows).map(\.id) == [grove.child])
                let detail = try await guest.object(grove.root)
                let shown = detail.values.compactMap { node.description.propertyName($0.property) }
                #expect(Set(shown) == ["title", "note", "code", "parent"])
                #expect(detail.counts.map { node.description.propertyName($0.property) } == ["children"])
                let person = ObjectFetchRequest(entity: try await grove.admin.entity("Person").number)
                #expect(await refusal { _ = try await guest.fetch(person) }?.code == .notPermitted)
                #expect(await refusal { _ = try await guest.object(grove.person) }?.code == .notFound)
            }
        }

        @Test func requestsThatWouldRevealOtherObjectsAreNotPermitted() async throws {
            try await self.with { grove in
                let refused = [
                    // `code` is unique among all objects: the guest must not learn whether "taken" is in use.
                    try self.update(grove, ["code": "taken"]), try self.update(grove, ["code": "free"]),
                    WriteTransaction(mutations: [try self.insertion(grove.node, ["title": "x", "parent": grove.root])]),
                    try self.update(grove, ["keeper": grove.person]),
                    try self.update(grove, ["keeper": AttributeValue.null]),
                    // The reply would reveal its tags and its box.
                    WriteTransaction(mutations: [.delete(.object(grove.child))]),
                ]
                for transaction in refused {
                    #expect(await refusal { _ = try await grove.guest.transaction(transaction) }?.code == .notPermitted)
                }
                #expect(try await grove.guest.transaction(self.update(grove, ["title": "new", "note": "x"])).isChanged)
                #expect(try await grove.guest.undo().isChanged)
            }
        }

        /// A confined client can undo a change that its session made with an unconfined token only if the client could
        /// have made the change itself.
        @Test func undoIsCheckedAgainstTheUndoersToken() async throws {
            try await self.with { grove in
                _ = try await grove.admin.transaction(self.update(grove, ["keeper": grove.person]))
                #expect(await refusal { _ = try await grove.guest.undo() }?.code == .undoConflict)
                #expect(await refusal { _ = try await grove.guest.previewUndo() }?.code == .undoConflict)
                #expect(try await grove.admin.undo().isChanged)
                #expect(await refusal { _ = try await grove.guest.redo() }?.code == .undoConflict)
                // The session inserted the child: deleting it would change the objects that its relationships point to.
                #expect(await refusal { _ = try await grove.guest.undo() }?.code == .notPermitted)
            }
        }
    }
}
