import NIOCore
import NIOPosix
import NestTestSupport
import Testing

@testable import BenchStages
@testable import nestbench

/// The stages into which `nestbench stages` splits a commit.
@Suite struct CommitTimelineTests {
    private static let (client, loop, engine) = (UInt32(1), UInt32(2), UInt32(3))

    /// One write whose stages take 1, 2, 3, … 8 microseconds.
    private static func write(at start: UInt64) -> [TraceEvent] {
        func event(_ kind: TraceEvent.Kind, _ begin: UInt64, _ end: UInt64, _ thread: UInt32) -> TraceEvent {
            TraceEvent(kind, start + begin * 1_000, start + end * 1_000, thread: thread)
        }
        return [
            event(.write, 0, 1, Self.client), event(.read, 2, 3, Self.loop), event(.begun, 6, 6, Self.engine),
            event(.performed, 10, 10, Self.engine), event(.sync, 10, 15, Self.engine),
            event(.handedOut, 16, 16, Self.engine), event(.write, 21, 22, Self.loop),
            event(.write, 23, 28, Self.loop), event(.read, 24, 25, Self.client), event(.read, 34, 36, Self.client),
        ]
    }

    @Test func everyStageBeginsWhereTheOneBeforeItEnds() throws {
        let timelines = CommitTimeline.all(in: Self.write(at: 0) + Self.write(at: 100_000), client: Self.client)
        #expect(timelines.count == 2)
        for timeline in timelines {
            #expect(CommitStage.allCases.map { timeline[$0] } == (1...8).map { $0 * 1_000 })
            #expect(timeline.total == 36_000)
        }
    }

    /// A loopback socket wakes the server before the client's call returns. On a busy machine the commit may be done
    /// by then.
    @Test(arguments: [UInt64(2_500), 7_000, 20_000, 35_000])
    func aServerThatHasReadDoesNotWaitForTheCall(returned: UInt64) throws {
        var events = Self.write(at: 0)
        events[0].end = returned
        let timeline = try #require(CommitTimeline.all(in: events, client: Self.client).first)
        #expect(timeline[.request] == min(returned, 3_000))
        #expect(timeline[.request] + timeline[.arrival] == 3_000)
        #expect(CommitStage.allCases.dropFirst(2).map { timeline[$0] } == (3...8).map { $0 * 1_000 })
        #expect(timeline.total == 36_000)
    }

    /// The engine's thread writes what the event loop has prepared.
    @Test func theEnginesThreadMayWrite() throws {
        var events = Self.write(at: 0)
        for index in events.indices where events[index].kind == .write && events[index].thread == Self.loop {
            events[index].thread = Self.engine
        }
        #expect(
            CommitTimeline.all(in: events, client: Self.client)
                == CommitTimeline.all(in: Self.write(at: 0), client: Self.client)
        )
    }

    /// The checkpoint after a write lasts until the next one has arrived.
    @Test func aCheckpointIsNoCommit() throws {
        let write = Self.write(at: 100_000)
        let checkpoint = TraceEvent(.sync, 100_500, 101_500, thread: Self.engine)
        let timelines = CommitTimeline.all(in: [write[0], checkpoint] + write.dropFirst(), client: Self.client)
        #expect(timelines == CommitTimeline.all(in: write, client: Self.client))
    }

    /// The end of a trace may cut the last write off; the engine also works without a commit.
    @Test func anIncompleteWriteHasNoTimeline() {
        for count in 1...8 {
            let part = Array(Self.write(at: 0).prefix(count))
            #expect(CommitTimeline.all(in: part, client: Self.client).isEmpty, "\(count) events")
        }
    }
}

extension SocketTests {
    @Suite struct StagesTests {
        /// A server with its store, two subscribers and the trace, as the command runs them.
        @Test func everyWriteOfARoundHasItsStages() async throws {
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let directory = TemporaryDirectory()
            let size = FanoutRound.Size(subscribers: 2, inFlight: 1, writes: 50)
            let (timelines, round) = try await StagesCommand.round(size, in: directory.path, on: group)
            #expect(timelines.count == size.writes)
            #expect(round.diffs == size.writes)
            for timeline in timelines { #expect(timeline[.disk] > 0) }
            try await group.shutdownGracefully()
        }
    }
}
