import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestLog

extension SocketTests {
    /// Which node may lead, by the clock of the server.
    @Suite struct LeaseTests {
        @Test func aNodeLeadsUntilItsLeaseEnds() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            #expect(try a.overview(position: 0).leader == nil)
            #expect(try a.claim(isSessionGone: false) == 1)
            #expect(try b.claim(isSessionGone: false) == nil)
            #expect(try b.claim(isSessionGone: true) == nil, "b has not seen that a's session has ended")
            #expect(try a.claim(isSessionGone: false) == 2, "a node may claim again")
            let overview = try b.overview(position: 0)
            #expect(overview.epoch == 2)
            #expect(overview.leader?.id == a.node.id && overview.leader?.address == "a.example:7000")
            #expect(overview.leader?.isAlive == true && !overview.isLeaderSessionGone && !overview.doubt)
            try await fixture.server.sql("UPDATE nest.node SET expires = clock_timestamp() WHERE name = 'a'")
            #expect(try b.overview(position: 0).leader?.isAlive == false)
            #expect(try b.claim(isSessionGone: false) == 3)
            #expect(try a.claim(isSessionGone: false) == nil)
            try a.release()
            #expect(try a.overview(position: 0).leader?.id == b.node.id, "only the leader releases")
            try b.release()
            #expect(try a.claim(isSessionGone: false) == 4)
            #expect(try b.seize() == 5)
        }

        /// The log names the node, which then claims; another node does not get it meanwhile.
        @Test func theLeadIsGivenToAnotherNode() async throws {
            let fixture = try await LogFixture.started()
            let (a, b, c) = (try fixture.node("a"), try fixture.node("b"), try fixture.node("c"))
            for node in [b, c] { try node.renewLease() }
            #expect(try a.claim(isSessionGone: false) == 1)
            #expect(try !b.release(to: c.node.id), "only the leader gives it")
            try await fixture.server.sql("UPDATE nest.node SET expires = clock_timestamp() WHERE name = 'c'")
            #expect(try !a.release(to: c.node.id), "the node is not alive")
            #expect(try a.overview(position: 0).leader?.id == a.node.id)
            #expect(try a.release(to: b.node.id))
            let named = try c.overview(position: 0)
            #expect(named.leader?.id == b.node.id && named.epoch == 1)
            #expect(try a.claim(isSessionGone: false) == nil && c.claim(isSessionGone: false) == nil)
            // It has claimed in the meantime: nothing is withdrawn.
            #expect(try b.claim(isSessionGone: false) == 2)
            try a.withdraw(b.node.id, epoch: 1)
            #expect(try a.overview(position: 0).leader?.id == b.node.id)
            #expect(try b.release(to: a.node.id))
            try c.withdraw(a.node.id, epoch: 2)
            #expect(try c.overview(position: 0).leader == nil)
            #expect(try c.claim(isSessionGone: false) == 3)
        }

        /// After a kill of the leader no node waits for the end of its lease.
        @Test func theEndOfTheLeadersSessionIsSeen() async throws {
            let fixture = try await LogFixture.started()
            let (a, b, c) = (try fixture.node("a"), try fixture.node("b"), try fixture.node("c"))
            #expect(try a.claim(isSessionGone: false) == 1)
            #expect(try !b.overview(position: 0).isLeaderSessionGone)
            a.close()
            try await waitUntil("the end of the session") { try b.overview(position: 0).isLeaderSessionGone }
            #expect(try c.overview(position: 0).isLeaderSessionGone)
            #expect(try b.claim(isSessionGone: false) == nil)
            #expect(try b.claim(isSessionGone: true) == 2)
            // The other node has seen that a's session is gone, not b's.
            #expect(try c.claim(isSessionGone: true) == nil)
            #expect(try !c.overview(position: 0).isLeaderSessionGone)
            // A session that ends by itself is replaced at once, although the leader has nothing to append.
            try await fixture.server.sql(
                """
                SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
                    AND objid = ('x' || left((SELECT node::text FROM nest.node WHERE name = 'b'), 8))::bit(32)::bigint::oid
                """
            )
            try await waitUntil("a new session") { try !c.overview(position: 0).isLeaderSessionGone }
            let lasting = try c.overview(position: 0)
            #expect(lasting.leader?.id == b.node.id && lasting.epoch == 2)
        }

        @Test func ofManyClaimsOneSucceeds() async throws {
            let fixture = try await LogFixture.started()
            let nodes = try (0..<8).map { try fixture.node("\($0)") }
            let epochs = try await withThrowingTaskGroup(of: Int64?.self) { group in
                for node in nodes { group.addTask { try await blocking { try node.claim(isSessionGone: true) } } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(epochs.compactMap { $0 } == [1])
        }

        @Test func nodesAreListedWithTheirPositions() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            for node in [b, a] { try node.renewLease() }
            try a.note(position: 5, isDrained: true)
            #expect(try a.nodes().map(\.position) == [5, nil] && a.nodes()[0].isDrained)
            try a.note(position: 6, isDrained: false)
            #expect(try a.nodes().allSatisfy { !$0.isDrained })
            #expect(try a.nodes().map(\.name) == ["a", "b"])
            #expect(try a.nodes().map(\.position) == [6, nil])
            #expect(try a.nodes().allSatisfy { $0.isAlive && $0.version == "0.4" })
            // The same node started again, with a new id.
            let again = try fixture.node("a")
            try again.renewLease()
            #expect(try a.nodes().map(\.id) == [again.node.id, b.node.id])
            try b.deregister()
            #expect(try a.nodes().map(\.name) == ["a"])
            let setup = try PostgresLogSetup(fixture.settings("setup"))
            #expect(try setup.forget(node: "a"))
            #expect(try !setup.forget(node: "a"))
            #expect(try a.nodes().isEmpty)
        }

        @Test func aNodeReadsTheSecretsOfTheOthers() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            #expect(try a.secret(of: b.node.id) == nil, "b is not registered yet")
            try a.renewLease()
            try b.renewLease()
            #expect(try a.secret(of: b.node.id) == b.secret)
            #expect(try b.secret(of: a.node.id) == a.secret)
            #expect(a.secret != b.secret)
            try b.deregister()
            #expect(try a.secret(of: b.node.id) == nil)
        }

        /// A failover must not lose a doubt.
        @Test func aDoubtIsSetWhenTheStandbyHasIt() async throws {
            let fixture = try await LogFixture.started()
            let standby = try await fixture.server.standby(isSynchronous: true)
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            try a.renewLease()
            await standby.freeze()
            #expect(throws: LogFailure.self) { try a.setDoubt(true) }
            #expect(throws: LogFailure.self) { try a.setDoubt(true) }
            // The wait neither locks the store nor takes another session each time.
            try b.release()
            let sessions = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            #expect(try await fixture.server.sql(sessions) == "1")
            await standby.thaw()
            try a.setDoubt(true)
            #expect(try b.overview(position: 0).doubt)
        }

        @Test func doubtsAndVerificationsAreForAllNodes() async throws {
            let fixture = try await LogFixture.started()
            let (a, b) = (try fixture.node("a"), try fixture.node("b"))
            try a.setDoubt(true)
            #expect(try b.overview(position: 0).doubt)
            try b.setDoubt(false)
            #expect(try !a.overview(position: 0).doubt)
            let digests = [a, b].map { node in
                LogVerification(node: node.node.id, position: 3, digest: Identifier128(high: 1, low: node.node.id.low))
            }
            for digest in digests + digests { try a.add(digest) }
            #expect(Set(try b.verifications(at: 3)) == Set(digests))
            #expect(try b.verifications(at: 4).isEmpty)
        }
    }
}
