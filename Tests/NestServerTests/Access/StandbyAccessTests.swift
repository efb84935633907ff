import NIOCore
import NestClient
import NestEngine
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing

extension SocketTests {
    /// Token checks during a long turn of the engine.
    struct StandbyAccess {
        private static func isRevoke(_ request: EngineRequest) -> Bool {
            if case .revokeToken = request { true } else { false }
        }

        /// The token is valid until its revocation commits, whether the revocation runs in the turn or waits for the
        /// next.
        @Test(arguments: [true, false])
        func revokingATokenEndsItsConnectionsDuringATurn(isInTheTurn: Bool) async throws {
            let gate = EngineGate()
            try await withTokens {
                $0.onEngineStage = { gate.pass($0, $1) }
            } _: { port, admin, adminToken in
                defer { gate.open() }
                let guest = try await admin.createToken(TokenGrant(name: "guest", role: .read))
                let operators = try ServerRawConnection.knocking(port: port, adminToken)
                _ = try operators.expect(Welcome.self, id: 0)
                var revoke: UInt32 = 0
                if isInTheTurn {
                    gate.holdNext { Self.isRevoke($0) }
                    revoke = try operators.request(RevokeToken(number: guest.number))
                } else {
                    gate.holdNextWrite()
                    let write = try operators.request(TransactionMessage(.insert("Milk")))
                    #expect(write > 0)
                }
                try gate.waitUntilHeld()
                let early = try ServerRawConnection.knocking(port: port, guest)
                #expect(try early.expect(Welcome.self, id: 0).role == .read)
                let id = try early.request(GetObject(id: ObjectID(1)))
                _ = try early.expect(ObjectMessage.self, id: id)
                if !isInTheTurn { revoke = try operators.request(RevokeToken(number: guest.number)) }

                gate.open()
                if !isInTheTurn { _ = try operators.frames(until: .receipt) }
                _ = try operators.expect(Done.self, id: revoke)
                #expect(try early.expectError(id: 0) == .unauthenticated)
                let late = try ServerRawConnection.knocking(port: port, guest)
                #expect(try late.expectError(id: 0) == .unauthenticated)
            }
        }

        @Test func scopedReadsDuringATurnStayInScope() async throws {
            let gate = EngineGate()
            try await withTokens {
                $0.onEngineStage = { gate.pass($0, $1) }
            } _: { port, admin, adminToken in
                defer { gate.open() }
                for (title, parent) in [("inside", 1), ("a", 2), ("SECRET", 1)] {
                    _ = try await admin.transaction(
                        WriteTransaction(mutations: [ConfinedWorld.insert(title, ObjectID(Int64(parent)))])
                    )
                }
                let grant = TokenGrant(name: "guest", role: .read, confinement: ConfinedWorld.grant)
                let guest = try await admin.createToken(grant)
                let operators = try ServerRawConnection.knocking(port: port, adminToken)
                _ = try operators.expect(Welcome.self, id: 0)
                gate.holdNextWrite()
                _ = try operators.request(TransactionMessage(.insert("Milk")))
                try gate.waitUntilHeld()

                let raw = try ServerRawConnection.knocking(port: port, guest)
                #expect(try raw.expect(Welcome.self, id: 0).confinement == ConfinedWorld.grant)
                // Not the root of the token's scope: only the engine knows which of its revisions the client may see.
                for (object, isVisible) in [(1, false), (3, true), (4, false), (9, false)] {
                    let id = try raw.request(GetObject(id: ObjectID(Int64(object))))
                    if isVisible {
                        _ = try raw.expect(ObjectMessage.self, id: id)
                    } else {
                        #expect(try raw.expectError(id: id) == .notFound)
                    }
                }
                let outside = try raw.request(Fetch(.rootChildren))
                #expect(try raw.expectError(id: outside) == .notFound)
                var request = ObjectFetchRequest.rootChildren
                request.source?.object = ConfinedWorld.root
                let inside = try raw.request(Fetch(request))
                #expect(try raw.expect(SnapshotMessage.self, id: inside).header.total == 1)
            }
        }
    }
}
