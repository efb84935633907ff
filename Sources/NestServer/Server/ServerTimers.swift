import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel

/// The periodic work of a running server.
struct ServerTimers: Sendable {
    private let tasks: [RepeatedTask]

    init(_ io: IOLayer, _ server: ServerContext, _ healthMonitor: StoreHealthMonitor?) {
        let eventLoop = io.loops[0].eventLoop
        for loop in io.loops {
            loop.eventLoop.execute { loop.startSweeping(every: server.configuration.timing.sweep, server) }
        }
        var tasks = [Self.tick(eventLoop, io, server), Self.positionTimer(eventLoop, server.engine)]
        if let healthMonitor { tasks.append(healthMonitor.start(on: eventLoop)) }
        self.tasks = tasks
    }

    /// Stops all timers except the loops' sweeps, which continue until their connections are closed.
    func cancel() {
        for task in self.tasks { task.cancel() }
    }

    /// Once a second: advances the engine's clock, returns memory to the system, and records metrics.
    private static func tick(_ eventLoop: any EventLoop, _ io: IOLayer, _ server: ServerContext) -> RepeatedTask {
        let trim = NIOLockedValueBox(MemoryTrim())
        return eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            server.engine.submit(CollectionOfOne(.tick))
            let held = server.memory.byteCount + server.answers.byteCount
            if trim.withLockedValue({ $0.isDue(heldBytes: held) }) {
                server.files.submit { state in
                    if case .active = state { MemoryTrim.run() }
                }
            }
            server.metrics.record(io.levels)
            server.replica?.node.tick()
        }
    }

    /// Ten times a second: lets the engine send changed window positions.
    private static func positionTimer(_ eventLoop: any EventLoop, _ engine: EngineThread) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: .milliseconds(100), delay: .milliseconds(100)) { _ in
            engine.submit(CollectionOfOne(.positionTimer))
        }
    }
}
