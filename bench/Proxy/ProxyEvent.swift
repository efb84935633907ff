/// An event in the proxy's log.
public enum ProxyEvent: Hashable, Sendable {
    case listening(port: Int)
    /// A new phase began, with these faults.
    case phase(Faults)
    case opened(link: Int)
    case refused
    /// The faults broke a connection, after this many bytes in this direction.
    case broken(link: Int, Faults.Break, ProxyDirection, bytes: Int)
    /// A connection was closed after this many bytes in each direction.
    case closed(link: Int, toServer: Int, toClient: Int)

    /// Returns the event as a JSON object on one line. `milliseconds`: the time since the proxy started.
    public func json(milliseconds: Int) -> String {
        let fields =
            switch self {
            case .listening(let port): #""event":"listening","port":\#(port)"#
            case .phase(let faults): #""event":"phase","faults":"\#(faults)""#
            case .opened(let link): #""event":"opened","link":\#(link)"#
            case .refused: #""event":"refused""#
            case .broken(let link, let kind, let direction, let bytes):
                #""event":"\#(kind.rawValue)","link":\#(link),"direction":"\#(direction.rawValue)","bytes":\#(bytes)"#
            case .closed(let link, let toServer, let toClient):
                #""event":"closed","link":\#(link),"toServer":\#(toServer),"toClient":\#(toClient)"#
            }
        return #"{"milliseconds":\#(milliseconds),\#(fields)}"#
    }

    /// Returns the event as text for people.
    public func text(milliseconds: Int) -> String {
        let what =
            switch self {
            case .listening(let port): "listening on 127.0.0.1:\(port)"
            case .phase(let faults): "now \(faults)"
            case .opened(let link): "connection \(link) opened"
            case .refused: "a connection was refused"
            case .broken(let link, let kind, let direction, let bytes):
                "connection \(link) \(kind.rawValue) after \(bytes) bytes \(direction.rawValue)"
            case .closed(let link, let toServer, let toClient):
                "connection \(link) closed: \(toServer) bytes to the server, \(toClient) to the client"
            }
        let thousandths = "\(1_000 + milliseconds % 1_000)".dropFirst()
        return "\(milliseconds / 1_000).\(thousandths) s  \(what)"
    }
}
