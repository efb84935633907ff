import Foundation
import NestOperations
import NestTestSupport
import Testing

extension SocketTests {
    /// Notifications to systemd, as systemd receives them.
    struct NotifierTests {
        @Test(arguments: [true, false])
        func messagesArriveAsSystemdReadsThem(isAbstract: Bool) throws {
            let socket = try DatagramSocket(isAbstract: isAbstract)
            let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": socket.name]))
            notifier.send(.ready(status: "serving notes.sqlite"))
            #expect(socket.next() == "READY=1\nSTATUS=serving notes.sqlite")
            notifier.send(.watchdog)
            #expect(socket.next() == "WATCHDOG=1")
            notifier.send(.reloading)
            let reloading = try #require(socket.next())
            #expect(reloading.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]+/) != nil, "\(reloading)")
            notifier.send(.stopping)
            #expect(socket.next() == "STOPPING=1")
        }

        @Test func notifierIsAbsentOutsideSystemd() {
            #expect(ServiceNotifier(environment: [:]) == nil)
            // A socket name must be a path or an abstract name, and must not be too long.
            #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": "notify"]) == nil)
            #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]) == nil)
            // Without a listener, sending does nothing.
            ServiceNotifier(environment: ["NOTIFY_SOCKET": "/nowhere/notify"])?.send(.stopping)
        }

        @Test func theWatchdogIntervalIsReadForThisProcessOnly() {
            let pid = ProcessInfo.processInfo.processIdentifier
            func interval(_ environment: [String: String]) -> Duration? {
                ServiceNotifier.watchdogInterval(environment: environment)
            }
            #expect(interval([:]) == nil)
            #expect(interval(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
            #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(pid)"]) == .seconds(30))
            #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(pid + 1)"]) == nil)
            for text in ["0", "-1", "soon", ""] { #expect(interval(["WATCHDOG_USEC": text]) == nil) }
        }
    }
}
