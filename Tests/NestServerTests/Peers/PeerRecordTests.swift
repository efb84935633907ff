import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// The stream of records that a leader sends to the nodes that follow it.
    @Suite struct PeerRecordTests {
        private static func follow(_ entry: LogEntry) -> Follow {
            Follow(position: entry.position.position, chain: entry.position.chain.rawValue)
        }

        private static func newest(_ log: ScriptedLog) throws -> LogEntry {
            try #require(log.withState { $0.entries.last })
        }

        @Test func aFollowerGetsEachRecordAsItStandsInTheLog() async throws {
            try await withLeader { port, log in
                let start = try Self.newest(log)
                let (writer, early, late) = (
                    try ServerRawConnection.node(port: port, number: 1, log),
                    try ServerRawConnection.node(port: port, number: 2, log),
                    try ServerRawConnection.node(port: port, number: 3, log)
                )
                let id = try early.request(Self.follow(start))
                let head = try early.expect(LogHead.self, id: id)
                #expect(head.position == start.position.position)
                #expect(head.epoch == log.withState { $0.epoch })
                try writer.open(1)
                for index in 0..<20 { _ = try writer.insert("\(index)", port: 1) }
                // It follows from a position in the ring.
                let lateID = try late.request(Self.follow(start))
                #expect(try late.expect(LogHead.self, id: lateID).position == start.position.position + 20)
                let entries = log.withState { $0.entries.filter { $0.position.position > start.position.position } }
                #expect(entries.count == 20)
                for entry in entries {
                    for (connection, id) in [(early, id), (late, lateID)] {
                        let record = try connection.record(id: id)
                        #expect(record.position == entry.position.position)
                        #expect(record.chain == entry.position.chain.rawValue)
                        #expect(try record.bytes == entry.bytes.all())
                    }
                }
                // A later FOLLOW replaces the earlier one.
                let again = try early.request(Self.follow(entries[18]))
                while let frame = try early.frame(), frame.id == id {
                    #expect(frame.type == MessageType.logHead.rawValue)
                }
                #expect(try early.record(id: again).position == entries[19].position.position)
            }
        }

        @Test func theHeadComesAgainAndAgain() async throws {
            try await withLeader { port, log in
                let start = try Self.newest(log)
                let follower = try ServerRawConnection.node(port: port, log)
                let id = try follower.request(Self.follow(start))
                for _ in 0..<3 {
                    #expect(try follower.expect(LogHead.self, id: id).position == start.position.position)
                }
            }
        }

        @Test func aPositionThatTheRingDoesNotContinueIsBehind() async throws {
            try await withLeader { port, log in
                let start = try Self.newest(log)
                let follower = try ServerRawConnection.node(port: port, log)
                var other = Self.follow(start)
                other.chain = Identifier128(high: 1, low: 2)
                let behind = try follower.request(other)
                #expect(try follower.expect(LogHead.self, id: behind).position == start.position.position)
                _ = try follower.expect(LogBehind.self, id: behind)
                // What a follower has read in the log before the leader reports it is not behind.
                var ahead = Self.follow(start)
                ahead.position += 1
                let id = try follower.request(ahead)
                _ = try follower.expect(LogHead.self, id: id)
                _ = try follower.expect(LogHead.self, id: id)
                let writer = try ServerRawConnection.node(port: port, number: 2, log)
                try writer.open(1)
                _ = try writer.insert("a", port: 1)
                // But its chain was wrong.
                #expect(try follower.recordsUntilBehind(id: id).isEmpty)
                // What it has appended since is in the ring. Its own first record may be before it.
                let all = try follower.request(Self.follow(start))
                #expect(try follower.record(id: all).position == start.position.position + 1)
            }
        }

        /// The server keeps nothing for it: it falls out of the ring.
        @Test func aFollowerThatReadsSlowlyFallsBehind() async throws {
            try await withLeader {
                $0.logRingBytes = 100_000
                $0.socketSendBytes = 4 << 10
            } _: { port, log in
                let start = try Self.newest(log)
                let follower = try ServerRawConnection.node(port: port, number: 1, log, receiveBytes: 4 << 10)
                let id = try follower.request(Self.follow(start))
                _ = try follower.expect(LogHead.self, id: id)
                let writer = try ServerRawConnection.node(port: port, number: 2, log)
                try writer.open(1)
                var random = SeededRandom(seed: 1)
                for _ in 0..<60 {
                    let title = String(
                        (0..<20_000).map { _ in Character(Unicode.Scalar(UInt8(33 + random.below(90)))) }
                    )
                    _ = try writer.insert(title, port: 1)
                }
                let positions = try follower.recordsUntilBehind(id: id)
                let first = start.position.position + 1
                #expect(positions == Array(first..<first + Int64(positions.count)), "without a gap, then LOG_BEHIND")
                #expect(positions.count < 60)
                // It has read the log, and follows again.
                let again = try follower.request(Self.follow(try Self.newest(log)))
                #expect(try follower.expect(LogHead.self, id: again).position == first + 59)
                _ = try writer.insert("b", port: 1)
                #expect(try follower.record(id: again).position == first + 60)
            }
        }

        @Test func aNodeThatNoLongerLeadsEndsItsStreams() async throws {
            try await withLeader { port, log in
                let start = try Self.newest(log)
                let follower = try ServerRawConnection.node(port: port, log)
                let id = try follower.request(Self.follow(start))
                _ = try follower.expect(LogHead.self, id: id)
                log.withState { state in
                    state.epoch += 1
                    state.leader = LogNode(
                        id: Identifier128(high: 8, low: 8),
                        name: "other",
                        address: "other:7000",
                        version: ""
                    )
                }
                #expect(try follower.recordsUntilBehind(id: id).isEmpty)
                let again = try follower.request(Self.follow(start))
                _ = try follower.expect(LogBehind.self, id: again)
            }
        }
    }
}
