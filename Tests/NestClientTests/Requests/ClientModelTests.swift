import NIOCore
import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Requests made for one model are never sent to a server with another.
    struct ClientModelTests {
        private static let now = NIODeadline.uptimeNanoseconds(0)
        private static let view = Limits.viewIDMin

        private static let otherModel = ManagedObjectModel(entities: [
            EntityDescription(
                number: 1,
                name: "Tag",
                attributes: [AttributeDescription(number: 1, name: "name", type: .string)],
                relationships: []
            )
        ])

        // MARK: The machine

        private static func machine() -> ClientStateMachine {
            let session = Identifier128(high: 1, low: 2)
            var machine = ClientStateMachine(hello: Hello(clientName: "t", session: session), seed: 1)
            _ = machine.connect()
            return machine
        }

        /// Opens the next connection to a server with this model and returns the actions on WELCOME.
        private static func connect(_ machine: inout ClientStateMachine, modelHash: UInt64) -> [ClientAction] {
            _ = machine.backoffEnded()
            _ = machine.channelOpened(now: Self.now)
            _ = machine.received(.server(chosen: 1))
            let welcome = Welcome(
                serverName: "s",
                features: .all,
                historyID: Identifier128(high: 0, low: 7),
                revision: Revision(0),
                oldestRevision: Revision(0),
                modelHash: modelHash,
                sessionNumber: 1,
                requestsInFlightMax: 3
            )
            return machine.received(Self.frame(welcome, id: 0), now: Self.now)
        }

        private static func frame(_ message: some Message, id: UInt32) -> Frame {
            Frame(type: Swift.type(of: message).type.rawValue, id: id, body: ByteBuffer(bytes: message.body))
        }

        private static func request(_ token: UInt64, _ kind: OutgoingRequest.Kind, _ message: some Message)
            -> OutgoingRequest
        {
            OutgoingRequest(owner: .caller(RequestToken(token)), kind: kind, message)
        }

        /// Returns the error codes by request token.
        private static func failures(_ actions: [ClientAction]) -> [UInt64: ErrorCode] {
            var failures: [UInt64: ErrorCode] = [:]
            for case .fail(let token, let error) in actions { failures[token.rawValue] = error.code }
            return failures
        }

        /// Returns the types of the sent frames.
        private static func sent(_ actions: [ClientAction]) -> [MessageType?] {
            actions.compactMap { action in
                guard case .send(let buffer) = action else { return nil }
                return buffer.getInteger(at: buffer.readerIndex + 4, as: UInt8.self).flatMap(MessageType.init)
            }
        }

        @Test func aNewModelFailsRequestsMadeForTheOld() {
            var machine = Self.machine()
            _ = Self.connect(&machine, modelHash: 1)
            let transaction = TransactionMessage(WriteTransaction(key: Identifier128(high: 0, low: 1), mutations: []))
            // The first three requests are sent; the rest wait.
            _ = machine.submit(Self.request(1, .write, transaction))
            _ = machine.submit(Self.request(2, .read, GetObject(id: ObjectID(1))))
            _ = machine.submit(Self.request(3, .write, Undo(key: Identifier128(high: 0, low: 2))))
            _ = machine.submit(Self.request(4, .write, transaction))
            _ = machine.submit(Self.request(5, .read, GetStatistics()))
            _ = machine.channelClosed(nil, now: Self.now)
            let actions = Self.connect(&machine, modelHash: 2)
            #expect(
                Self.failures(actions) == [1: .outcomeUnknown, 2: .schemaChanged, 4: .schemaChanged],
                "requests that need no model are sent or retried"
            )
            #expect(Self.sent(actions) == [.undo, .getStatistics])
        }

        @Test func anotherModelEndsSubscriptions() throws {
            var machine = Self.machine()
            _ = Self.connect(&machine, modelHash: 1)
            _ = machine.subscribe(SubscriberID(1), to: Fixtures.request)
            _ = machine.received(
                Self.frame(Fixtures.subscribed(Self.view, .snapshot), id: RequestTable.firstID),
                now: Self.now
            )
            _ = machine.channelClosed(nil, now: Self.now)
            // A subscription that was made while disconnected.
            _ = machine.subscribe(SubscriberID(2), to: ObjectFetchRequest(entity: EntityNumber(1)))
            let actions = Self.connect(&machine, modelHash: 2)
            #expect(Self.sent(actions).isEmpty)
            var ended: [SubscriberID] = []
            for case .endSubscription(let subscribers, let error) in actions {
                #expect(error.code == .schemaChanged)
                ended += subscribers
            }
            #expect(ended == [SubscriberID(1), SubscriberID(2)])
        }

        @Test func requestsWaitUntilTheNewModelIsRead() {
            var machine = Self.machine()
            _ = Self.connect(&machine, modelHash: 1)
            _ = machine.channelClosed(nil, now: Self.now)
            _ = Self.connect(&machine, modelHash: 2)
            let read = Self.request(1, .read, GetObject(id: ObjectID(1)))
            #expect(Self.failures(machine.submit(read)) == [1: .schemaChanged])
            guard case .endSubscription(_, let error)? = machine.subscribe(SubscriberID(1), to: Fixtures.request).first
            else {
                Issue.record("expected a refusal of the subscription")
                return
            }
            #expect(error.code == .schemaChanged)
            #expect(Self.sent(machine.submit(Self.request(2, .read, GetModel()))) == [.getModel])
            let reply = Self.frame(ModelMessage(Self.otherModel), id: RequestTable.firstID)
            let known = KnownModel(model: Self.otherModel, hash: 2)
            #expect(machine.received(reply, now: Self.now) == [.succeed(RequestToken(2), .model(known))])
            #expect(machine.currentModel == known)
            machine.modelIsKnown(hash: 2)
            #expect(Self.sent(machine.submit(read)) == [.getObject])
            #expect(Self.sent(machine.subscribe(SubscriberID(1), to: Fixtures.request)) == [.subscribe])
        }

        // MARK: A model that extends the known one

        private static let extendedModel: ManagedObjectModel = {
            var item = ManagedObjectModel.nestedList.entities[0]
            item = EntityDescription(
                number: item.number.rawValue,
                name: item.name,
                attributes: item.attributes + [AttributeDescription(number: 20, name: "due", type: .date)],
                relationships: item.relationships,
                label: item.label?.rawValue,
                root: item.root
            )
            return ManagedObjectModel(entities: [
                item, EntityDescription(number: 2, name: "Tag", attributes: [], relationships: []),
            ])
        }()

        /// A machine that has read a model with the hash 1, and whose connection is lost: a subscription to all
        /// properties is at revision 3, a write was sent, and a download waits.
        private static func machineWithWork() throws -> ClientStateMachine {
            var machine = Self.machine()
            _ = Self.connect(&machine, modelHash: 1)
            _ = machine.submit(Self.request(1, .read, GetModel()))
            _ = machine.received(Self.frame(ModelMessage(.nestedList), id: 1), now: Self.now)
            _ = machine.subscribe(SubscriberID(1), to: ObjectFetchRequest(entity: EntityNumber(1)))
            let all = try #require(ManagedObjectModel.nestedList.entity(EntityNumber(1))).storedProperties
            _ = machine.received(
                Self.frame(Fixtures.subscribed(Self.view, .snapshot, projection: all), id: 2),
                now: Self.now
            )
            let state = SectionedSnapshot(revision: Revision(3), projection: all, sections: [])
            _ = machine.received(
                Self.frame(SnapshotMessage(Fixtures.header(state)), id: Self.view),
                now: Self.now
            )
            _ = machine.submit(Self.request(2, .write, TransactionMessage(Fixtures.insert)))
            _ = machine.channelClosed(nil, now: Self.now)
            let subtree = FetchSubtree(SubtreeRequest(root: ObjectID(1), relationship: PropertyNumber(6)))
            _ = machine.submit(Self.request(3, .download, subtree))
            return machine
        }

        /// The model changes on a connection, also while the client compares the server's with the one that it knows.
        @Test(arguments: [false, true])
        func aChangeOnAConnectionIsFollowed(whileComparing: Bool) throws {
            var machine = try Self.machineWithWork()
            let sent = Self.sent(Self.connect(&machine, modelHash: whileComparing ? 2 : 1))
            let changed = Self.frame(ModelChanged(Self.extendedModel, hash: 3), id: 0)
            var actions: [ClientAction] = []
            if whileComparing {
                #expect(machine.received(changed, now: Self.now).isEmpty)
                actions = machine.received(Self.frame(ModelMessage(Self.extendedModel), id: 1), now: Self.now)
            } else {
                // The subscription is live again.
                let all = try #require(ManagedObjectModel.nestedList.entity(EntityNumber(1))).storedProperties
                let current = Fixtures.subscribed(Self.view, .current(Revision(3)), projection: all)
                let index = try #require(sent.firstIndex(of: .subscribe))
                _ = machine.received(Self.frame(current, id: UInt32(index + 1)), now: Self.now)
                actions = machine.received(changed, now: Self.now)
                // The same again changes nothing.
                #expect(machine.received(changed, now: Self.now).isEmpty)
            }
            #expect(machine.currentModel == KnownModel(model: Self.extendedModel, hash: 3))
            let requests = actions.compactMap { action -> ObjectFetchRequest? in
                if case .deliver(.request(let request), _, _) = action { request } else { nil }
            }
            let all = try #require(ManagedObjectModel.nestedList.entity(EntityNumber(1))).storedProperties
            #expect(requests.map(\.projection) == [all], "the list keeps the properties that it has")
            let read = Self.request(9, .read, Fetch(ObjectFetchRequest(entity: EntityNumber(1))))
            #expect(Self.failures(machine.submit(read)).isEmpty)
        }

        @Test func anExtensionEndsNothing() throws {
            var machine = try Self.machineWithWork()
            let greeted = Self.connect(&machine, modelHash: 2)
            #expect(Self.sent(greeted) == [.getModel] && greeted.first == .greeted, "first it compares the models")
            #expect(greeted.count == 2)
            #expect(Self.sent(machine.submit(Self.request(4, .read, GetObject(id: ObjectID(1))))).isEmpty)
            #expect(Self.sent(machine.received(Self.frame(Ping(payload: 1), id: 0), now: Self.now)) == [.pong])
            let actions = machine.received(Self.frame(ModelMessage(Self.extendedModel), id: 1), now: Self.now)
            #expect(Self.failures(actions) == [3: .schemaChanged], "a transfer has all properties")
            #expect(Self.sent(actions) == [.subscribe, .transaction, .getObject] || Self.sent(actions).count == 3)
            for case .send(let buffer) in actions {
                guard buffer.getInteger(at: buffer.readerIndex + 4, as: UInt8.self) == MessageType.subscribe.rawValue
                else { continue }
                let subscribe = try Subscribe(
                    body: buffer.getSlice(at: buffer.readerIndex + 12, length: buffer.readableBytes - 12)!
                )
                #expect(subscribe.resume?.revision == Revision(3))
                let all = try #require(ManagedObjectModel.nestedList.entity(EntityNumber(1))).storedProperties
                #expect(subscribe.request.projection == all, "the properties that it had")
            }
            #expect(machine.currentModel == KnownModel(model: Self.extendedModel, hash: 2))
        }

        @Test func noExtensionEndsWhatWasMadeForTheOldModel() throws {
            var machine = try Self.machineWithWork()
            _ = Self.connect(&machine, modelHash: 2)
            let actions = machine.received(Self.frame(ModelMessage(Self.otherModel), id: 1), now: Self.now)
            #expect(Self.failures(actions) == [2: .outcomeUnknown, 3: .schemaChanged])
            #expect(Self.sent(actions).isEmpty)
            #expect(actions.contains { if case .endSubscription = $0 { true } else { false } })
            #expect(machine.currentModel == KnownModel(model: Self.otherModel, hash: 2), "it need not be read again")
        }

        /// After a comparison that did not end, the next connection begins with it again.
        @Test func theComparisonBeginsAgainOnAnotherConnection() throws {
            var machine = try Self.machineWithWork()
            _ = Self.connect(&machine, modelHash: 2)
            _ = machine.channelClosed(nil, now: Self.now)
            #expect(Self.sent(Self.connect(&machine, modelHash: 2)) == [.getModel])
            let refusal = ErrorMessage(NestError(.busy, "later"))
            #expect(machine.received(Self.frame(refusal, id: 1), now: Self.now) == [.closeChannel])
            _ = machine.channelClosed(nil, now: Self.now)
            #expect(Self.sent(Self.connect(&machine, modelHash: 2)) == [.getModel])
            let actions = machine.received(Self.frame(ModelMessage(Self.extendedModel), id: 1), now: Self.now)
            #expect(Self.sent(actions).contains(.subscribe))
        }

        /// Frames may arrive after the end, for example while TLS closes.
        @Test func aModelAfterTheEndOpensNothing() throws {
            let model = Self.frame(ModelMessage(Self.extendedModel), id: 1)
            var machine = try Self.machineWithWork()
            _ = Self.connect(&machine, modelHash: 2)
            _ = machine.close()
            _ = machine.received(model, now: Self.now)
            guard case .closed = machine.phase else {
                Issue.record("the client is open again: \(machine.phase)")
                return
            }
            machine = try Self.machineWithWork()
            _ = Self.connect(&machine, modelHash: 2)
            let goAway = GoAway(code: .shuttingDown, lastRequestID: 0, retryAfterMilliseconds: 2_000, message: "")
            #expect(machine.received(Self.frame(goAway, id: 0), now: Self.now) == [.closeChannel])
            #expect(machine.received(model, now: Self.now).allSatisfy { if case .send = $0 { false } else { true } })
            let pauses = machine.channelClosed(nil, now: Self.now).compactMap { action in
                if case .openChannelAfter(let milliseconds) = action { milliseconds } else { nil }
            }
            #expect(pauses.allSatisfy { $0 >= 2_000 } && pauses.count == 1, "as the server has asked")
            #expect(Self.sent(Self.connect(&machine, modelHash: 2)) == [.getModel])
        }

        /// A caller that was given the old model says so after the new one has been followed.
        @Test func anOlderModelIsNotKnownAgain() throws {
            var machine = try Self.machineWithWork()
            _ = Self.connect(&machine, modelHash: 2)
            _ = machine.received(Self.frame(ModelMessage(Self.extendedModel), id: 1), now: Self.now)
            machine.modelIsKnown(hash: 1)
            _ = machine.channelClosed(nil, now: Self.now)
            #expect(Self.sent(Self.connect(&machine, modelHash: 2)).contains(.subscribe))
        }

        /// The rows of a subscriber whose change waits are not yet those of the new request.
        @Test func aWaitingChangeIsNotDelivered() throws {
            var machine = try Self.machineWithWork()
            let all = ObjectFetchRequest(entity: EntityNumber(1))
            var sorted = all
            sorted.sort = [OrderingTerm(PropertyNumber(1))]
            _ = machine.subscribe(SubscriberID(2), to: all)
            _ = Self.connect(&machine, modelHash: 1)
            _ = machine.received(
                Self.frame(Fixtures.subscribed(Self.view, .current(Revision(3))), id: RequestTable.firstID),
                now: Self.now
            )
            _ = machine.change(SubscriberID(2), to: sorted, RequestToken(9))
            _ = machine.channelClosed(nil, now: Self.now)
            _ = Self.connect(&machine, modelHash: 2)
            let actions = machine.received(Self.frame(ModelMessage(Self.extendedModel), id: 1), now: Self.now)
            for case .deliver(.request(let request), let subscribers, _) in actions {
                #expect(request.sort.isEmpty && subscribers.contains(SubscriberID(1)))
            }
        }

        @Test func theSameModelChangesNothing() {
            var machine = Self.machine()
            _ = Self.connect(&machine, modelHash: 1)
            _ = machine.submit(Self.request(1, .read, GetModel()))
            _ = machine.received(Self.frame(ModelMessage(.nestedList), id: RequestTable.firstID), now: Self.now)
            _ = machine.submit(Self.request(2, .read, GetObject(id: ObjectID(1))))
            _ = machine.subscribe(SubscriberID(1), to: Fixtures.request)
            _ = machine.channelClosed(nil, now: Self.now)
            let actions = Self.connect(&machine, modelHash: 1)
            #expect(Self.failures(actions).isEmpty)
            #expect(Set(Self.sent(actions)) == [.getObject, .subscribe])
            #expect(machine.currentModel?.model == .nestedList)
        }

        /// The server would close the connection, and the client would send the request again.
        @Test func aRequestLargerThanAFrameIsNotSent() {
            var machine = Self.machine()
            _ = Self.connect(&machine, modelHash: 1)
            let text = AttributeValue.string(String(repeating: "x", count: 60_000))
            let insert = Mutation.insert(
                entity: EntityNumber(1),
                values: [PropertyAssignment(PropertyNumber(1), .value(text))],
                placements: []
            )
            func submit(_ token: UInt64, count: Int) -> [ClientAction] {
                let transaction = WriteTransaction(mutations: [Mutation](repeating: insert, count: count))
                return machine.submit(Self.request(token, .write, TransactionMessage(transaction)))
            }
            #expect(Self.sent(submit(1, count: 17)) == [.transaction])
            #expect(Self.failures(submit(2, count: 18)) == [2: .frameTooLarge])
        }

        // MARK: The client

        @Test func aClientReadsTheNewModelAndContinues() async throws {
            let first = Fixtures.state(3, [Fixtures.row(2, "a")])
            let (seen, saw) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                let isFirst = server.number == 0
                let model = isFirst ? ManagedObjectModel.nestedList : Self.otherModel
                try await server.welcome(revision: 5, modelHash: model.hash)
                try await server.send(ModelMessage(model), id: try await server.expect(GetModel.self).id)
                let (id, message) = try await server.expect(Subscribe.self)
                #expect(message.resume == nil)
                try await server.send(Fixtures.subscribed(Self.view, .snapshot), id: id)
                try await server.sendSnapshot(first, id: Self.view)
                if isFirst { for await _ in seen { return } }
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    #expect(try await client.model() == .nestedList)
                    await #expect { try await follow(client) } throws: { ($0 as? NestError)?.code == .schemaChanged }
                    await #expect { try await client.transaction(Fixtures.insert) } throws: {
                        ($0 as? NestError)?.code == .schemaChanged
                    }
                    #expect(try await client.model() == Self.otherModel)
                    try await client.withFetchedResults(Fixtures.request) { results in
                        var changes = results.makeAsyncIterator()
                        let change = try await changes.next()
                        #expect(change == .snapshot(.first))
                    }
                }
            }

            @Sendable func follow(_ client: NestClient) async throws {
                try await client.withFetchedResults(Fixtures.request) { results in
                    for try await change in results { if case .snapshot = change { saw.yield() } }
                }
            }
        }
    }
}
