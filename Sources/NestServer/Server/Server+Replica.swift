import Logging
import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestStore

/// A server that is a node of a cluster. It opens its store again, on the same port, whenever the log requires that.
extension Server {
    /// Serves until the server is asked to stop, or cannot go on.
    func serve(as replica: ReplicaConfiguration) async throws(ServerError) {
        let node = ReplicaNode(replica, self.configuration.store, self.logger)
        self.ending.withLockedValue { ending in
            ending.node = node
            if ending.isStopping { node.requestStop() }
        }
        let failure: ServerError?
        do throws(ServerError) {
            try await self.serve(node)
            failure = nil
        } catch {
            failure = error
        }
        await node.leave()
        if let failure { throw failure }
    }

    private func serve(_ node: ReplicaNode) async throws(ServerError) {
        var configuration = self.configuration
        var reopening: ReplicaReopening?
        while let opened = try await node.open(reopening) {
            configuration.store = opened.store
            if let limits = self.ending.withLockedValue({ $0.limits }) {
                configuration.connectionsMax = limits.connectionsMax
                configuration.outputBytesMax = limits.outputBytesMax
                configuration.spoolBytesMax = limits.spoolBytesMax
            }
            configuration.cluster = opened.session.answers
            let listening = try await self.start(configuration, opened.session)
            // The next opening listens where this one does.
            configuration.port = listening.port
            if let port = listening.webPort { configuration.web?.port = port }
            node.wait(because: nil)
            await self.untilEnding()
            let ending = self.ending.withLockedValue { ending in
                defer { (ending.reopening, ending.damage) = (nil, nil) }
                return ending
            }
            reopening = ending.isStopping ? nil : ending.reopening
            if let reopening { node.journal.reopening("\(reopening)") }
            try await self.stop(reopening.map { $0.drainReason } ?? .stopping, isFinal: reopening == nil)
            if let damage = ending.damage { throw .log(damage) }
            if reopening == nil { return }
        }
        self.onStopping(nil)
    }

    /// Called on the driver's thread when the open store cannot be used any more.
    func end(_ reason: ReplicaDriver.Ending) {
        self.ending.withLockedValue { ending in
            switch reason {
            case .reopen(let reopening): ending.reopening = reopening
            case .stop(let failure): ending.damage = failure
            }
        }
        self.endRequested.yield()
    }
}

extension ReplicaReopening {
    fileprivate var drainReason: DrainReason {
        switch self {
        case .cut: .modelChanged
        case .newHistory: .historyChanged
        case .behindLog, .diverged: .rejoining
        }
    }
}
