import NestEngine
import NestModel
import Testing

/// Results that are too expensive to evaluate within a batch lag and are brought up to date later.
/// `ResultsSimulationTests` tests this with random histories, some of them with almost no budget.
@Suite struct LaggingResultTests {
    private func like(_ pattern: String) -> ObjectFetchRequest {
        var request = ObjectFetchRequest(entity: EngineFixture.item)
        request.predicate = FetchPredicate(
            Comparison(
                path: PropertyPath(leaf: .attribute(EngineFixture.title)),
                operator: .like,
                folding: [.caseInsensitive, .diacriticInsensitive],
                values: [.string(pattern)]
            )
        )
        return request
    }

    /// A request whose pattern takes so long for each byte as it may.
    private func matching(_ pattern: String) -> ObjectFetchRequest {
        var request = self.like("")
        request.predicate = FetchPredicate(
            Comparison(
                path: PropertyPath(leaf: .attribute(EngineFixture.title)),
                operator: .matches,
                values: [.string(pattern)]
            )
        )
        return request
    }

    private func evaluations(_ fixture: EngineFixture, _ client: SimulatedClient, _ request: ObjectFetchRequest) throws
        -> Int
    {
        guard let explanation = try fixture.ask(client, .explain(request)).explanation else { return -1 }
        return explanation.live?.evaluations ?? 0
    }

    /// A commit of hundreds of objects concerns many expensive predicates. It does not wait for them, a cheap result
    /// follows at once, and finally every client holds the correct rows.
    @Test func expensiveResultsLagAndAreBroughtUpToDate() throws {
        let fixture = try EngineFixture(evaluationNanosecondsMax: 200_000)
        fixture.holdsReads = true
        let writer = try fixture.connect(session: 1)
        let list = try fixture.write(writer, [EngineFixture.insert("list")]).insertedIDs[0]
        let cheap = try fixture.connect(session: 2)
        try fixture.perform([cheap.subscribe(list)])
        let attacker = try fixture.connect(session: 3)
        let requests = (0..<40).map { self.like("*a*b*c*\($0)*") }
        for request in requests { try fixture.perform([attacker.subscribe(request)]) }
        let titles = (0..<400).map { "a b c \($0 % 50)" }
        let (id, write) = writer.request(
            .transaction(WriteTransaction(mutations: titles.map { EngineFixture.insert($0, under: list) }))
        )
        try fixture.perform([write])
        #expect(writer.replies[id]?.receipt != nil)
        #expect(cheap.state(list)?.total == 400)
        // The batch has not evaluated the predicates for each of the objects.
        #expect(try requests.reduce(0) { try $0 + self.evaluations(fixture, writer, $1) } < 400 * 40 / 4)
        #expect(requests.contains { attacker.subscriptions[$0]?.state?.total == 0 })
        // A client's own write is answered after its subscriptions have the changes.
        let (own, ownWrite) = attacker.request(
            .transaction(WriteTransaction(mutations: [EngineFixture.insert("a b c 1 own")]))
        )
        try fixture.perform([ownWrite])
        #expect(attacker.replies[own] == nil)
        fixture.holdsReads = false
        while fixture.engine.hasBacklog || !fixture.reads.isEmpty { try fixture.perform([]) }
        #expect(attacker.replies[own]?.receipt != nil)
        for (number, request) in requests.enumerated() {
            let wanted =
                titles.count { $0.dropFirst(6).contains("\(number)") } + ("1 own".contains("\(number)") ? 1 : 0)
            #expect(attacker.subscriptions[request]?.state?.total == wanted, "\(number)")
        }
    }

    /// The cost of a regular expression is counted for each byte of the text. A commit does not wait for a result with
    /// a large one, and the result is brought up to date later.
    @Test func regularExpressionsAreCountedByTheLengthOfTheText() throws {
        let fixture = try EngineFixture(evaluationNanosecondsMax: 1_000_000)
        fixture.holdsReads = true
        let writer = try fixture.connect(session: 1)
        let attacker = try fixture.connect(session: 2)
        let large = self.matching("(a|b)*a(a|b){901}")
        let small = self.matching("[ab]+")
        for request in [large, small] { try fixture.perform([attacker.subscribe(request)]) }
        let title = String(repeating: "ab", count: 2_000)
        let (id, write) = writer.request(
            .transaction(WriteTransaction(mutations: [EngineFixture.insert(title)]))
        )
        try fixture.perform([write])
        #expect(writer.replies[id]?.receipt != nil)
        #expect(try self.evaluations(fixture, writer, large) == 0)
        #expect(try self.evaluations(fixture, writer, small) == 1)
        #expect(attacker.subscriptions[small]?.state?.total == 1)
        fixture.holdsReads = false
        while fixture.engine.hasBacklog || !fixture.reads.isEmpty { try fixture.perform([]) }
        #expect(attacker.subscriptions[large]?.state?.total == 1)
    }

    /// A pattern that cannot be compiled is refused with what is wrong.
    @Test func patternsThatCannotBeCompiledAreRefused() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        for (pattern, words) in [("(?=a)", "look-ahead"), ("(", "is not closed"), (".{1000}", "4000 instructions")] {
            let error = try fixture.ask(client, .explain(self.matching(pattern))).error
            #expect(error?.code == .invalidPredicate && error?.message.contains(words) == true, "\(error as Any)")
        }
    }

    /// Unused results are dropped when they would need evaluation.
    @Test func unusedResultsAreDroppedWhenTheyNeedEvaluation() throws {
        let fixture = try EngineFixture(evaluationNanosecondsMax: 20_000)
        let writer = try fixture.connect(session: 1)
        let guest = try fixture.connect(session: 2)
        let requests = (0..<20).map { self.like("*a*b*c*\($0)*") }
        for request in requests { try fixture.perform([guest.subscribe(request)]) }
        try fixture.perform([.disconnected(guest.connection)])
        try fixture.write(writer, [EngineFixture.insert("a b c 1")])
        let kept = try requests.count { request in
            guard let explanation = try fixture.ask(writer, .explain(request)).explanation else { return false }
            return explanation.live != nil
        }
        #expect(kept < requests.count)
    }
}
