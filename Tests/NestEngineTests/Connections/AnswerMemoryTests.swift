import NestEngine
import NestModel
import NestStore
import Testing

/// The engine limits the bytes of answers that connections have not read.
@Suite struct AnswerMemoryTests {
    /// A connection that reads no answers gets only the answer that exceeds the limit. Its other requests wait.
    @Test func unreadAnswersPerConnectionAreLimited() throws {
        let fixture = try EngineFixture(answerBytesUnreadMax: 10_000)
        let writer = try fixture.connect(session: 1)
        try fixture.write(writer, (0..<20).map { _ in EngineFixture.insert(String(repeating: "x", count: 1_000)) })
        let reader = try fixture.connect(session: 2)
        let request = SimulatedClient.children(of: EngineFixture.root)
        let asked = (0..<16).map { _ in reader.request(.fetch(request, atLeast: Revision(0))) }
        let objects = (0..<16).map { _ in reader.request(.object(EngineFixture.root)) }
        try fixture.perform(asked.map(\.input) + objects.map(\.input))
        for _ in 0..<20 { try fixture.perform([]) }
        #expect(asked.count { reader.replies[$0.id] != nil } == 1)
        #expect(objects.allSatisfy { reader.replies[$0.id] == nil })
        // Others are answered meanwhile.
        guard case .snapshot = try fixture.ask(writer, .fetch(request, atLeast: Revision(0))) else {
            return #expect(Bool(false), "another connection has to wait")
        }
        var turns = 0
        while asked.contains(where: { reader.replies[$0.id] == nil }) {
            #expect(reader.awaitsDrain)
            try fixture.perform([reader.drain()])
            turns += 1
            try #require(turns < 40)
        }
        try fixture.perform([reader.drain()])
        #expect(turns >= 15 && objects.allSatisfy { reader.replies[$0.id] != nil })
    }

    /// The memory of an answer is released when its last reference is gone.
    @Test func aShareIsReleasedWithItsAnswer() throws {
        let memory = AnswerMemory(bytesMax: 1_000)
        do {
            let share = memory.share(600)
            #expect(memory.byteCount == 600)
            withExtendedLifetime(share) {}
        }
        #expect(memory.byteCount == 0)
    }

    /// A background read without enough memory is refused and holds no memory afterwards.
    @Test func answersBeyondTheMemoryLimitAreRefused() throws {
        let fixture = try EngineFixture(backgroundReadRowsMin: 0)
        fixture.holdsReads = true
        let writer = try fixture.connect(session: 1)
        let titles = (0..<40).map { _ in EngineFixture.insert(String(repeating: "y", count: 30_000)) }
        try fixture.write(writer, titles)
        let (id, fetch) = writer.request(
            .fetch(SimulatedClient.children(of: EngineFixture.root), atLeast: Revision(0))
        )
        try fixture.perform([fetch])
        let memory = AnswerMemory(bytesMax: 500_000)
        let last = fixture.reads.popLast()
        let read = try #require(last)
        try fixture.perform([.read(read.id, read.run(fixture.store.reader, memory: memory))])
        #expect(writer.replies[id]?.error?.code == .busy)
        #expect(memory.byteCount == 0)
    }

    /// If live results grow over their limit, the largest one ends.
    @Test func theLargestResultEndsUnderMemoryPressure() throws {
        let fixture = try EngineFixture(liveResultBytesMax: 60_000)
        let writer = try fixture.connect(session: 1)
        let lists = try fixture.write(writer, [EngineFixture.insert("large"), EngineFixture.insert("small")])
            .insertedIDs
        let client = try fixture.connect(session: 2)
        try fixture.perform(lists.map { client.subscribe($0) })
        try fixture.write(writer, [EngineFixture.insert("one", under: lists[1])])
        for _ in 0..<10 {
            try fixture.write(writer, (0..<100).map { EngineFixture.insert("\($0)", under: lists[0]) })
        }
        #expect(client.ended.map(\.code) == [.busy])
        #expect(client.state(lists[1])?.total == 1 && client.state(lists[0]) == nil)
    }
}
