import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestEngine

/// Requests that reserve ids: each is a commit of its own.
@Suite struct ReservationTests {
    @Test func aTurnHasOneReservation() throws {
        let fixture = try EngineFixture()
        let (a, b) = try (fixture.connect(session: 1), fixture.connect(session: 2))
        let requests = (0..<3).map { _ in a.request(.reserveIDs(2)) } + [b.request(.reserveIDs(5))]
        let write = b.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("x")])))
        try fixture.perform(requests.map(\.input) + [write.input])
        func answered() -> [UInt32] {
            requests[..<3].map(\.id).filter { a.replies[$0] != nil }
        }
        #expect(b.replies[write.id] != nil && answered() == [requests[0].id])
        var turns = 1
        while fixture.engine.hasBacklog {
            #expect(turns < 4)
            try fixture.perform([])
            turns += 1
        }
        #expect(turns == 4 && answered().count == 3)
        var ids: Set<ObjectID> = []
        for (client, request) in [(a, 0), (a, 1), (a, 2), (b, 3)] {
            guard case .reserved(let first, let count)? = client.replies[requests[request].id] else {
                Issue.record("no ids")
                continue
            }
            ids.formUnion((0..<Int64(count)).map { ObjectID(first.rawValue + $0) })
        }
        #expect(ids.count == 11)
    }

    @Test func whoHasLeftGetsNoIDs() throws {
        let fixture = try EngineFixture()
        let (a, b) = try (fixture.connect(session: 1), fixture.connect(session: 2))
        let requests = (0..<3).map { _ in a.request(.reserveIDs(1)) } + [b.request(.reserveIDs(1))]
        try fixture.perform(requests.map(\.input))
        // It leaves at the end of the turn of its second request.
        try fixture.perform([.disconnected(a.connection)])
        try fixture.perform([])
        #expect(a.replies[requests[2].id] == nil)
        #expect(b.replies[requests[3].id] != nil && !fixture.engine.hasBacklog)
    }
}
