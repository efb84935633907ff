import NestClient
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    struct ClientRequestTests {
        /// A server that ignores an expiry would make a token that never ends.
        @Test func tokensWithAnExpiryNeedAServerThatKnowsThem() async throws {
            try await FakeServer.run { server in
                try await server.welcome(revision: 5)
                let plain = try await server.expect(CreateToken.self)
                #expect(plain.message.grant.name == "plain")
                try await server.send(TokenCreated(number: 4), id: plain.id)
            } client: { port in
                let client = NestClient(Fixtures.configuration(port))
                for grant in [
                    TokenGrant(name: "t", role: .read, expires: 1 << 40),
                    TokenGrant(name: "t", role: .read, user: "Ann"),
                ] {
                    let error = await #expect(throws: NestError.self) { try await client.createToken(grant) }
                    #expect(error?.code == .unsupported)
                }
                let token = try await client.createToken(TokenGrant(name: "plain", role: .read))
                #expect(token.number == 4)
                await client.close()
            }
        }

        @Test func aWriteHasAKeyAndReturnsItsReceipt() async throws {
            let receipt = try await FakeServer.run { server in
                let hello = try await server.welcome(revision: 7)
                #expect(hello.clientName == "test")
                let (id, message) = try await server.expect(TransactionMessage.self)
                #expect(message.transaction.key != nil)
                try await server.send(ReceiptMessage(Receipt(revision: Revision(8), isChanged: true)), id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    #expect(await client.server?.revision == Revision(7))
                    return try await client.transaction(Fixtures.insert)
                }
            }
            #expect(receipt == Receipt(revision: Revision(8), isChanged: true))
        }

        @Test func repliesMayArriveInAnyOrder() async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                var ids: [UInt32] = []
                for _ in 0..<3 { ids.append(try await server.expect(GetObject.self).id) }
                let objects = ids.map {
                    ObjectDetail(
                        entity: EntityNumber(1),
                        id: ObjectID(Int64($0)),
                        revision: Revision(1),
                        values: [],
                        counts: []
                    )
                }
                for (id, object) in zip(ids, objects).reversed() {
                    try await server.send(ObjectMessage(object), id: id)
                }
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    async let a = client.object(ObjectID(1))
                    async let b = client.object(ObjectID(2))
                    async let c = client.object(ObjectID(3))
                    let ids = try await [a.id, b.id, c.id]
                    #expect(Set(ids).count == 3)
                }
            }
        }

        @Test func aRefusedRequestThrowsTheServersError() async throws {
            let refusal = NestError(.notFound, "there is no such object", object: ObjectID(9))
            await #expect(throws: refusal) {
                try await FakeServer.run { server in
                    try await server.welcome()
                    let id = try await server.expect(GetObject.self).id
                    try await server.send(ErrorMessage(refusal), id: id)
                    await server.untilClosed()
                } client: { port in
                    try await NestClient.withClient(Fixtures.configuration(port)) { client in
                        _ = try await client.object(ObjectID(9))
                    }
                }
            }
        }

        @Test func aWriteIsSentAgainWithItsKeyAfterALostConnection() async throws {
            let key = Identifier128(high: 5, low: 6)
            let receipt = try await FakeServer.run { server in
                try await server.welcome()
                let (id, message) = try await server.expect(TransactionMessage.self)
                #expect(message.transaction.key == key)
                guard server.number > 0 else { return }
                try await server.send(
                    ReceiptMessage(Receipt(revision: Revision(1), isChanged: true, isReplayed: true)),
                    id: id
                )
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    var transaction = Fixtures.insert
                    transaction.key = key
                    return try await client.transaction(transaction)
                }
            }
            #expect(receipt.isReplayed)
        }

        @Test func aWriteIsNotSentToAnotherHistory() async throws {
            let code = await code { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    _ = try await client.transaction(Fixtures.insert)
                }
            } server: { server in
                try await server.welcome(history: UInt64(server.number + 1))
                guard server.number == 0 else { return await server.untilClosed() }
                _ = try await server.expect(TransactionMessage.self)
            }
            #expect(code == .outcomeUnknown)
        }

        @Test func aWriteWithoutAReplyHasAnUnknownOutcome() async throws {
            let code = await code { port in
                try await NestClient.withClient(Fixtures.configuration(port, timeout: .milliseconds(50))) { client in
                    _ = try await client.transaction(Fixtures.insert)
                }
            } server: { server in
                try await server.welcome()
                let id = try await server.expect(TransactionMessage.self).id
                #expect(try await server.expect(Cancel.self).id == id)
            }
            #expect(code == .outcomeUnknown)
        }

        @Test func aReadWithoutAReplyTimesOut() async throws {
            let code = await code { port in
                try await NestClient.withClient(Fixtures.configuration(port, timeout: .milliseconds(50))) { client in
                    _ = try await client.object(ObjectID(1))
                }
            } server: { server in
                try await server.welcome()
                await server.untilClosed()
            }
            #expect(code == .timedOut)
        }

        @Test func requestsAfterTheLastIDOfGoAwayAreRetried() async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                guard server.number == 0 else {
                    let id = try await server.expect(TransactionMessage.self).id
                    try await server.send(ReceiptMessage(Receipt(revision: Revision(2), isChanged: true)), id: id)
                    return await server.untilClosed()
                }
                let first = try await server.expect(TransactionMessage.self).id
                _ = try await server.expect(TransactionMessage.self)
                try await server.send(
                    GoAway(code: .shuttingDown, lastRequestID: first, retryAfterMilliseconds: 10, message: "")
                )
                try await server.send(ReceiptMessage(Receipt(revision: Revision(1), isChanged: true)), id: first)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    async let a = client.transaction(Fixtures.insert)
                    async let b = client.transaction(Fixtures.insert)
                    let revisions = try await [a.revision, b.revision]
                    #expect(Set(revisions) == [Revision(1), Revision(2)])
                }
            }
        }

        @Test func anUnsupportedVersionIsReported() async throws {
            let code = await code { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { _ in }
            } server: { server in
                try await server.preface()
                try await server.send(raw: Preface.magic + [0, 9, 8, 0])
            }
            #expect(code == .versionMismatch)
        }

        @Test func aServerWithAnotherProtocolIsReported() async throws {
            let code = await code { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { _ in }
            } server: { server in
                try await server.send(raw: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
                await server.untilClosed()
            }
            #expect(code == .protocolViolation)
        }

        @Test func aPortWithoutAServerIsUnreachable() async throws {
            // A privileged port without a listener.
            let port = 1
            await #expect { try await NestClient(Fixtures.configuration(port)).connect() } throws: { error in
                (error as? NestError)?.code == .unreachable
            }
        }

        @Test func aFetchIsAssembledFromItsFrames() async throws {
            let state = Fixtures.state(4, (2...12).map { Fixtures.row($0, "row \($0)") })
            let fetched = try await FakeServer.run { server in
                try await server.welcome()
                let model = try await server.expect(GetModel.self).id
                try await server.send(ModelMessage(.nestedList), id: model)
                let (id, message) = try await server.expect(Fetch.self)
                #expect(message.atLeast == Revision(4))
                try await server.sendSnapshot(state, id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await client.fetch(Fixtures.request, atLeast: Revision(4))
                }
            }
            #expect(fetched == state)
        }

        @Test func pingsAreAnsweredAndTimed() async throws {
            let elapsed = try await FakeServer.run { server in
                try await server.welcome()
                try await server.send(Ping(payload: 77))
                var payload: UInt64?
                while payload == nil {
                    let frame = try await server.next()
                    switch frame.type {
                    case MessageType.pong.rawValue: #expect(try Pong(body: frame.body).payload == 77)
                    default: payload = try Ping(body: frame.body).payload
                    }
                }
                try await server.send(Pong(payload: try #require(payload)))
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { try await $0.ping() }
            }
            #expect(elapsed > .zero)
        }
    }
}

/// Returns the code of the error that a client throws against a scripted server.
private func code(
    _ client: @escaping @Sendable (Int) async throws -> Void,
    server: @escaping @Sendable (FakeServer.Connection) async throws -> Void
) async -> ErrorCode? {
    do {
        try await FakeServer.run(server, client: client)
        return nil
    } catch {
        return (error as? NestError)?.code
    }
}
