import NestClient
import NestHistory
import NestModel

/// A task of a run, with a name for messages.
struct Participant: Sendable {
    var name: String
    /// Whether the run waits for this participant.
    var isAwaited: Bool
    var run: @Sendable () async throws -> Void

    init(name: String, isAwaited: Bool = true, _ run: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.isAwaited = isAwaited
        self.run = run
    }
}

extension ChaosRun {
    /// Returns new writers with new sessions.
    mutating func writers(inPiece piece: Int) async -> [Participant] {
        var participants: [Participant] = []
        for number in 0...4 {
            let configuration = await self.configuration(network: number == ChaosWorld.slow ? nil : number)
            let (name, isBulky) = ("w\(number) of \(piece)", number == 4)
            let writer = ChaosWriter(name, configuration, self.ledger, isBulky: isBulky, self.fork())
            participants.append(Participant(name: name) { try await writer.run() })
        }
        return participants
    }

    /// Returns the watchers, which run from the first piece to the last.
    mutating func watchers() async -> [Participant] {
        await self.wholeWatchers() + self.partWatchers() + self.outlineUsers() + self.followers()
    }

    private mutating func wholeWatchers() async -> [Participant] {
        var participants: [Participant] = []
        for number in 0...3 {
            let client = NestClient(await self.configuration(network: number))
            let sightings = await self.ledger.sightings("s\(number)", of: client)
            for kind in number == ChaosWorld.slow ? [.bulky, .outline] : ChaosSubscriber.kinds {
                let query = WatchedQuery(kind, of: self.ledger.list)
                participants.append(self.watcher("s\(number) \(kind)", query, client, sightings))
            }
        }
        return participants
    }

    private mutating func partWatchers() async -> [Participant] {
        var participants: [Participant] = []
        for number in [0, 1, 3] {
            let client = NestClient(await self.configuration(network: number))
            let sightings = await self.ledger.sightings("s\(number) parts", of: client)
            for kind in ChaosSubscriber.kinds {
                let query = WatchedQuery(kind, of: self.ledger.list, window: .range(offset: number, limit: 6))
                let changer = ChaosRequestChanger(query, self.fork())
                participants.append(self.watcher("s\(number) part of \(kind)", query, client, sightings, changer))
            }
        }
        return participants
    }

    private func watcher(
        _ name: String,
        _ query: WatchedQuery,
        _ client: NestClient,
        _ sightings: ChaosSightings,
        _ requestChanger: ChaosRequestChanger? = nil
    ) -> Participant {
        Participant(name: name) { [ledger] in
            try await client.connectAtLast()
            try await ChaosSubscriber.watch(
                query,
                name,
                client,
                ledger,
                requestChanger: requestChanger,
                sightings: sightings
            )
        }
    }

    private mutating func outlineUsers() async -> [Participant] {
        var participants: [Participant] = []
        for number in 0...3 {
            let client = NestClient(await self.configuration(network: number))
            let user = ChaosOutlineUser("s\(number) folds", of: self.ledger.list, self.fork())
            participants.append(
                Participant(name: user.name) { [ledger] in
                    try await client.connectAtLast()
                    try await user.watch(client, ledger)
                }
            )
        }
        return participants
    }

    private mutating func followers() async -> [Participant] {
        var participants: [Participant] = []
        for number in 0..<4 {
            let follower = ChaosFollower(
                name: "f\(number)",
                configuration: await self.configuration(network: number),
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
