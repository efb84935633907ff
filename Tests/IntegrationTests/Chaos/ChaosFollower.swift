import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Follows all changes, in one life after the other: each goes on where the last ended.
struct ChaosFollower {
    let name: String
    let configuration: ClientConfiguration
    let ledger: ChaosLedger
    /// It stays with its first client.
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
            let record = try await Self.follow("\(self.name).\(life)", since, eventsMax, client)
            await client.close()
            since = record.position ?? since
            isComplete = record.record.isComplete
            await self.ledger.add(record.record)
        }
    }

    private static func follow(
        _ name: String,
        _ since: ResumePoint?,
        _ eventsMax: Int,
        _ client: NestClient
    ) async throws -> (record: FollowerRecord, position: ResumePoint?) {
        var record = FollowerRecord(name: name, since: since)
        let position = try await client.withChanges(since: since) { changes in
            for try await event in changes {
                switch event {
                case .following(let point): record.events.append(.following(point))
                case .changes(let part):
                    record.events.append(.changes(part))
                    record.isComplete = part.name == ChaosLedger.endName
                case .progress(let revision): record.events.append(.progress(revision))
                case .disconnected: record.events.append(.disconnected)
                case .resumed(let revision): record.events.append(.resumed(revision))
                }
                if record.isComplete || record.events.count >= eventsMax { break }
            }
            return changes.position
        }
        return (record, position)
    }
}

extension NestClient {
    /// Connects through whatever is in the way.
    func connectAtLast() async throws {
        while true {
            do throws(NestError) {
                return try await self.connect()
            } catch {
                guard error.code.retry == .later || error.code.retry == .reconnect else { throw error }
            }
            // Somebody who listens comes back soon; nothing hangs on how soon this looks again.
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
