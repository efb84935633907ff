import NIOCore
import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

/// A client that is confined to a sub-tree tries to reach objects outside it.
extension SocketTests {
    struct ConfinementAttacks {
        private typealias World = ConfinedWorld

        /// Returns every request that can name an object, with `id` as that object.
        private static func probes(_ id: ObjectID) -> [(name: String, message: any Message)] {
            func write(_ mutations: Mutation..., preconditions: [Precondition] = []) -> any Message {
                TransactionMessage(WriteTransaction(preconditions: preconditions, mutations: mutations))
            }
            func place(_ place: Place) -> Mutation { World.insert("x", World.root, place) }
            let selfIs = Comparison(path: PropertyPath(leaf: .object), operator: .equal, values: [.reference(id)])
            let parentIs = Comparison(
                path: PropertyPath(steps: [World.parent], leaf: .object),
                operator: .equal,
                values: [.reference(id)]
            )
            let inSubtree = Comparison(
                path: PropertyPath(leaf: .object),
                operator: .inSubtree,
                values: [.reference(id), .integer(6)]
            )
            var around = World.children(of: World.root)
            around.window = .around(id, before: 2, after: 2)
            var ordered = World.fetch(parentIs)
            ordered.sort = [.order]
            let requests = [
                ("children", World.children(of: id)), ("self", World.fetch(selfIs)), ("parent", World.fetch(parentIs)),
                ("subtree", World.fetch(inSubtree)), ("around", around), ("ordered", ordered),
            ]
            var probes: [(String, any Message)] = requests.map { ("fetch \($0)", Fetch($1)) }
            probes += requests.map { ("subscribe \($0)", Subscribe($1)) }
            probes += [
                ("object", GetObject(id: id)),
                ("subtree", FetchSubtree(SubtreeRequest(root: id, relationship: World.children))),
                ("insert under", write(World.insert("x", id))),
                ("insert before", write(place(.before(.object(id))))),
                ("insert after", write(place(.after(.object(id))))),
                ("insert at", write(World.insert("x", id, .at(9)))),
                (
                    "insert by value",
                    write(
                        .insert(
                            entity: World.item,
                            values: [PropertyAssignment(World.parent, .reference(.object(id)))],
                            placements: []
                        )
                    )
                ),
                (
                    "insert by raw value",
                    write(
                        .insert(
                            entity: World.item,
                            values: [PropertyAssignment(World.parent, .value(.reference(id)))],
                            placements: []
                        )
                    )
                ),
                ("rename", write(World.rename(id, "x"))),
                ("rename last", write(World.rename(World.leaf, "x"), World.rename(id, "x"))),
                ("take", write(.move(.object(id), World.under(World.root)))),
                ("take by value", write(World.reparent(id, World.root))),
                ("give", write(.move(.object(World.leaf), World.under(id)))),
                ("give by value", write(World.reparent(World.leaf, id))),
                ("delete", write(.delete(.object(id)))),
                ("relate", write(.relate(.object(World.root), World.children, .object(id), .last))),
                ("relate to", write(.relate(.object(id), World.children, .object(World.leaf), .last))),
                (
                    "precondition",
                    write(
                        World.rename(World.leaf, "c"),
                        preconditions: [Precondition(object: id, revision: Revision(1))]
                    )
                ),
                ("set related", write(.setRelated(.object(id), World.children, []))),
                ("unrelate", write(.unrelate(.object(id), World.children, .object(World.leaf)))),
                (
                    "find",
                    write(
                        .findOrCreate(
                            entity: World.item,
                            match: [PropertyAssignment(World.parent, .reference(.object(id)))],
                            values: [],
                            placements: []
                        )
                    )
                ),
            ]
            return probes
        }

        /// Returns the server's answer without the requested id. It must be the same for an object outside the scope
        /// and for a nonexistent object.
        private static func answer(_ message: any Message, _ id: ObjectID, _ world: World) throws -> [String] {
            let connection = try world.raw()
            let requestID = try connection.request(message)
            var parts: [String] = []
            while let frame = try connection.frame() {
                guard frame.type != MessageType.own.rawValue, frame.type != MessageType.progress.rawValue else {
                    continue
                }
                var text = Hex.text(Array(frame.body.readableBytesView))
                #expect(!frame.body.readableBytesView.containsMark)
                if frame.type == MessageType.error.rawValue {
                    let error = try ErrorMessage(body: frame.body).error
                    text = "\(error.code) \(error.message) \(error.object?.rawValue ?? 0)"
                        .replacing("\(id)", with: "ID")
                }
                // View numbers depend on the order of subscriptions.
                if frame.type == MessageType.subscribed.rawValue { text = "subscribed" }
                parts.append("\(frame.type) \(text)")
                let isWhole = !frame.flags.contains(.more) && frame.type != MessageType.subscribed.rawValue
                if isWhole, frame.id == requestID || frame.id >= Limits.viewIDMin { break }
            }
            return parts
        }

        @Test func objectsOutsideTheScopeDoNotExist() async throws {
            try await World.with { world in
                for id in World.outside {
                    let probes = zip(Self.probes(id), Self.probes(World.nowhere))
                    for (probe, other) in probes {
                        let outside = try Self.answer(probe.message, id, world)
                        let nowhere = try Self.answer(other.message, World.nowhere, world)
                        #expect(outside == nowhere, "\(probe.name) \(id)")
                    }
                }
                // None of the writes was executed.
                let statistics = try await world.admin.statistics()
                #expect(statistics.first { $0.name == "revision" }?.value == 7)
            }
        }

        /// Requests that read or write more than single objects.
        @Test func requestsThatCannotBeScopedAreRefused() async throws {
            try await World.with { world in
                func path(_ steps: PropertyNumber..., leaf: PropertyPath.Leaf = .attribute(World.title)) -> PropertyPath
                {
                    PropertyPath(steps: steps, leaf: leaf)
                }
                let above = path(World.parent, World.parent)
                let aboveIs = Comparison(path: above, operator: .beginsWith, values: [.string("S")])
                var column = World.children(of: World.root)
                column.columns = [above]
                var sorted = World.children(of: World.root)
                sorted.sort = [OrderingTerm(key: .path(above))]
                let messages: [any Message] = [
                    Fetch(World.fetch(aboveIs)), Fetch(column), Fetch(sorted), Subscribe(column),
                    GetStatistics(), Explain(World.children(of: World.root)), SubscribeChanges(),
                    GetHistory(before: Revision(0), limit: 10, onlyMine: false),
                    Revert(key: nil, options: UndoOptions(), revision: Revision(2), ofAnyone: true),
                    PreviewUndo(.revert(Revision(2), ofAnyone: true)), ListTokens(), RevokeToken(number: 1),
                    CreateToken(TokenGrant(name: "x", role: .read), secretHash: world.token.secret),
                ]
                for message in messages {
                    let connection = try world.raw()
                    let id = try connection.request(message)
                    #expect(try connection.expectError(id: id) == .notPermitted, "\(message)")
                }
                // Inside the sub-tree the same paths are allowed.
                let parentIs = Comparison(path: path(World.parent), operator: .equal, values: [.string("inside")])
                try await world.guest { guest in
                    let found = try await guest.fetch(World.fetch(parentIs))
                    #expect(found.sections.flatMap(\.rows).map(\.id) == [World.below, World.leaf])
                    #expect(
                        await refusal {
                            _ = try await guest.transaction(WriteTransaction(mutations: [.delete(.object(World.root))]))
                        }?.code == .rootObject
                    )
                    #expect(
                        await refusal {
                            _ = try await guest.transaction(
                                WriteTransaction(mutations: [.insert(entity: World.item, values: [], placements: [])])
                            )
                        }?.code == .notPermitted
                    )
                }
            }
        }

        @Test func aScopedClientUsesItsSubtreeLikeAnyTree() async throws {
            try await World.with { world in
                try await world.guest { guest in
                    let root = try await guest.object(World.root)
                    #expect(root.values.first { $0.property == World.parent }?.value == .null)
                    let all = try await guest.fetch(ObjectFetchRequest(entity: World.item))
                    #expect(all.sections.flatMap(\.rows).map(\.id) == [World.below, World.deep, World.leaf])
                    #expect(try await guest.count(ObjectFetchRequest(entity: World.item)) == 3)
                    _ = try await guest.transaction(WriteTransaction(mutations: [World.rename(World.root, "renamed")]))
                    let inserted = try await guest.transaction(
                        WriteTransaction(mutations: [World.insert("new", World.deep)])
                    )
                    _ = try await guest.transaction(WriteTransaction(mutations: [.delete(.object(World.below))]))
                    #expect(try await guest.count(ObjectFetchRequest(entity: World.item)) == 1)
                    let undone = try await guest.undo()
                    #expect(undone.isChanged)
                    #expect(try await guest.count(ObjectFetchRequest(entity: World.item)) == 4)
                    #expect(try await guest.object(inserted.insertedIDs[0]).id == inserted.insertedIDs[0])
                    #expect(try await guest.history().count == 4)
                    let request = SubtreeRequest(root: World.root, relationship: World.children)
                    let rows = try await guest.fetchSubtree(request) { subtree in
                        var rows: [SubtreeRow] = []
                        for try await chunk in subtree { rows += chunk }
                        return rows
                    }
                    #expect(rows.count == 5)
                }
            }
        }

        /// An object that the client changed has left the scope since.
        @Test func undoDoesNotReachBeyondTheTokenScope() async throws {
            try await World.with { world in
                try await world.guest { guest in
                    _ = try await guest.transaction(WriteTransaction(mutations: [World.rename(World.leaf, "mine")]))
                    _ = try await world.admin.transaction(
                        WriteTransaction(mutations: [.move(.object(World.leaf), World.under(World.outside[1]))])
                    )
                    for body in [
                        { _ = try await guest.undo() },
                        { _ = try await guest.undo(options: UndoOptions(policy: .force)) },
                        { _ = try await guest.previewUndo(.undo) },
                    ] as [() async throws -> Void] {
                        #expect(await refusal(body)?.code == .undoConflict)
                    }
                    #expect(
                        await refusal {
                            _ = try await guest.undo(options: UndoOptions(rehomes: true))
                        }?.code == .notPermitted
                    )
                }
                let leaf = try await world.admin.object(World.leaf)
                #expect(leaf.values.first { $0.property == World.title }?.value == .string("mine"))
            }
        }

        /// Two clients with equal requests but different token scopes have different live results.
        @Test func resultsAreNotSharedAcrossScopes() async throws {
            try await World.with { world in
                let request = ObjectFetchRequest(entity: World.item, projection: [World.title])
                let guest = try world.raw()
                let other = try ServerRawConnection.knocking(
                    port: world.port,
                    try await world.admin.createToken(TokenGrant(name: "all", role: .read))
                )
                _ = try other.expect(Welcome.self, id: 0)
                let own = try guest.request(Subscribe(request))
                let view = try guest.expect(Subscribed.self, id: own).view
                let all = try other.request(Subscribe(request))
                #expect(try other.expect(Subscribed.self, id: all).view != view)

                // All objects outside change; then one object enters the scope and one leaves; the last change is
                // inside.
                for id in World.outside.dropFirst() {
                    _ = try await world.admin.transaction(
                        WriteTransaction(mutations: [World.rename(id, "\(World.mark) again")])
                    )
                }
                let moves: [Mutation] = [
                    .move(.object(World.below), World.under(World.outside[1])),
                    World.rename(World.below, "\(World.mark) gone"),
                    .move(.object(World.outside[3]), World.under(World.root)), World.rename(World.outside[3], "came"),
                ]
                _ = try await world.admin.transaction(WriteTransaction(mutations: moves))
                _ = try await world.admin.transaction(
                    WriteTransaction(mutations: [World.rename(World.leaf, "the end")])
                )
                var diffs: [ResultsDiff] = []
                reading: while let frame = try guest.frame() {
                    #expect(!frame.body.readableBytesView.containsMark)
                    guard frame.type == MessageType.diff.rawValue else { continue }
                    let diff = try frame.body.withUnsafeReadableBytes { bytes in
                        try ByteReader.read(Array(bytes)) { (reader) throws(DecodingFailure) in
                            try reader.diff(valueCount: 1)
                        }
                    }
                    diffs.append(diff)
                    if diff.updates.contains(where: { $0.values.contains { $0.value == .string("the end") } }) {
                        break reading
                    }
                }
                // The guest sees the two objects that left the scope as deleted.
                #expect(diffs.flatMap(\.deletedRows).map(\.id).sorted() == [World.below, World.deep])
                #expect(diffs.flatMap(\.deletedRows).allSatisfy { $0.reason == .deleted })
                #expect(diffs.flatMap(\.insertedRows).map(\.row.id) == [World.outside[3]])
            }
        }

        @Test func anAdminTokenCannotHaveAScope() async throws {
            try await World.with { world in
                for grant in [
                    TokenGrant(name: "x", role: .admin, confinement: World.grant),
                    TokenGrant(
                        name: "x",
                        role: .read,
                        confinement: AccessConfinement(root: World.root, entity: World.item, relationship: World.parent)
                    ),
                ] {
                    #expect(await refusal { _ = try await world.admin.createToken(grant) }?.code == .invalid)
                }
                let nowhere = AccessConfinement(root: World.nowhere, entity: World.item, relationship: World.children)
                let grant = TokenGrant(name: "x", role: .read, confinement: nowhere)
                #expect(await refusal { _ = try await world.admin.createToken(grant) }?.code == .notFound)
            }
        }
    }
}

extension ByteBufferView {
    /// Whether the bytes contain the mark that a confined client must not see.
    fileprivate var containsMark: Bool { self.contains(Array(ConfinedWorld.mark.utf8)) }
}
