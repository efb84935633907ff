import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Follows all changes with a series of clients. Each client resumes where the previous one ended.
struct ChaosFollower {
    let name: String
    let configuration: ClientConfiguration
    let ledger: ChaosLedger
    /// Whether the follower keeps its first client.
    let isSteady: Bool
    var random: SeededRandom

    mutating func run() async throws {
        var since: ResumePoint?
        var isComplete = false
        var life = 0
        while !isComplete {
            life += 1
            let client = NestClient(self.configuration)
            try await client.connectAtLast()
            let eventsMax = self.isSteady ? Int.max : 1 + self.random.below(200)
            let end = try await self.follow("\(self.name).\(life)", since, eventsMax, client)
            await client.close()
            since = end.position ?? since
            isComplete = end.isComplete
        }
    }

    private func follow(
        _ name: String,
        _ since: ResumePoint?,
        _ eventsMax: Int,
        _ client: NestClient
    ) async throws -> (isComplete: Bool, position: ResumePoint?) {
        let recorder = await self.ledger.begin(FollowerRecord(name: name, since: since), of: self.name)
        var end: (isComplete: Bool, position: ResumePoint?) = (false, nil)
        do {
            try await client.withChanges(since: since) { changes in
                var count = 0
                defer { end.position = changes.position }
                for try await event in changes {
                    count += 1
                    switch event {
                    case .following(let point): recorder.append(.following(point), reached: point.revision)
                    case .changes(let part):
                        recorder.append(.changes(part), reached: part.hasMore ? nil : part.revision)
                        end.isComplete = part.name == ChaosLedger.endName
                    case .progress(let revision): recorder.append(.progress(revision))
                    case .disconnected: recorder.append(.disconnected)
                    case .resumed(let revision): recorder.append(.resumed(revision))
                    }
                    if end.isComplete || count >= eventsMax { break }
                }
            }
        } catch let error as NestError where error.code == .revisionNotReached {
            // This node of a cluster lags: the next client asks another one.
            await self.ledger.count("lagging node")
        }
        await self.ledger.end(recorder, isComplete: end.isComplete)
        return end
    }
}

extension NestClient {
    /// Connects, retrying through network faults and server restarts.
    func connectAtLast() async throws {
        // A server restarts within seconds, but the network of a chaos run may cut each attempt for a while.
        try await waitUntil("a connection", within: .seconds(300), every: .milliseconds(20)) {
            do throws(NestError) {
                try await self.connect()
                return true
            } catch {
                guard error.code.retry == .later || error.code.retry == .reconnect else { throw error }
                return false
            }
        }
    }
}
