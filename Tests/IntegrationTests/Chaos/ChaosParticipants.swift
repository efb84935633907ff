import NestClient
import NestHistory
import NestModel

/// Somebody who does something in a run, until it is over.
struct Participant: Sendable {
    var name: String
    var run: @Sendable () async throws -> Void

    init(name: String, _ run: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.run = run
    }

    /// That the others wait for.
    var isAwaited: Bool { self.name != "conductor" && self.name != "deaths" }
}

extension ChaosRun {
    /// New ones, with new sessions.
    mutating func writers(inPiece piece: Int) async -> [Participant] {
        var participants: [Participant] = []
        for number in 0...4 {
            let configuration = await self.configuration(proxy: number == Self.slow ? nil : number)
            let (name, isBulky) = ("w\(number) of \(piece)", number == 4)
            let writer = ChaosWriter(name, configuration, self.ledger, isBulky: isBulky, self.fork())
            participants.append(Participant(name: name) { try await writer.run() })
        }
        return participants
    }

    /// Who looks on, from the first piece to the last.
    mutating func watchers() async -> [Participant] {
        await self.wholeWatchers() + self.partWatchers() + self.followers()
    }

    private mutating func wholeWatchers() async -> [Participant] {
        var participants: [Participant] = []
        for number in 0...3 {
            let client = NestClient(await self.configuration(proxy: number))
            for kind in number == Self.slow ? [.bulky] : ChaosSubscriber.kinds {
                let query = WatchedQuery(kind, of: self.ledger.list)
                participants.append(self.watcher("s\(number) \(kind)", query, client))
            }
        }
        return participants
    }

    private mutating func partWatchers() async -> [Participant] {
        var participants: [Participant] = []
        for number in [0, 1, 3] {
            let client = NestClient(await self.configuration(proxy: number))
            for kind in ChaosSubscriber.kinds {
                let query = WatchedQuery(kind, of: self.ledger.list, window: .range(offset: number, limit: 6))
                let turns = ChaosTurns(self.fork())
                participants.append(self.watcher("s\(number) part of \(kind)", query, client, turns))
            }
        }
        return participants
    }

    private func watcher(
        _ name: String,
        _ query: WatchedQuery,
        _ client: NestClient,
        _ turns: ChaosTurns? = nil
    ) -> Participant {
        Participant(name: name) { [ledger] in
            try await client.connectAtLast()
            try await ChaosSubscriber.watch(query, name, client, ledger, turns: turns)
        }
    }

    private mutating func followers() async -> [Participant] {
        var participants: [Participant] = []
        for number in 0..<4 {
            let follower = ChaosFollower(
                name: "f\(number)",
                configuration: await self.configuration(proxy: number),
                ledger: self.ledger,
                isSteady: number % 2 == 0,
                random: self.fork()
            )
            participants.append(
                Participant(name: follower.name) {
                    var follower = follower
                    try await follower.run()
                }
            )
        }
        return participants
    }
}
