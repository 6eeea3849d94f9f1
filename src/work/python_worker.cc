#include "work/python_worker.h"

namespace everstep {

const std::string_view kPythonWorker = R"python(
import io, json, linecache, os, sys, threading, traceback

# The pipes are only for frames. Redirect the standard descriptors, so that the output of a step, or
# of a program that it starts, does not mix with them.
requests = os.fdopen(os.dup(0), 'rb')
answers = os.fdopen(os.dup(1), 'wb')
nowhere = os.open(os.devnull, os.O_RDWR)
for descriptor in (0, 1, 2):
    os.dup2(nowhere, descriptor)

sending = threading.Lock()


def send(message):
    frame = json.dumps(message, allow_nan=False).encode()
    with sending:
        answers.write(b'%d\n' % len(frame) + frame)
        answers.flush()


class Capture(io.TextIOBase):
    def __init__(self, room):
        self.parts, self.room = [], room

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError('write() argument must be str, not ' + type(text).__name__)
        if self.room > 0:
            self.parts.append(text[:self.room])
            self.room -= len(text)
        return len(text)

    def text(self):
        return ''.join(self.parts).encode('utf-8', 'replace').decode()


def heartbeat():
    send({'beat': True})


def execute(task):
    name = task.get('file', '<step>')
    if 'file' in task:
        with open(name, 'rb') as source:
            code = source.read()
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
    else:
        code = task['code']
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    args = task['args']
    scope = {'__name__': '__everstep__', '__file__': name, '__builtins__': __builtins__,
             'args': args, 'heartbeat': heartbeat}
    try:
        exec(compile(code, name, 'exec', dont_inherit=True), scope)
        if not callable(scope.get('main')):
            return scope.get('result')
        value = scope['main'](**args)
        if hasattr(value, '__await__'):
            import asyncio
            value = asyncio.run(value)
        return value
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise
        return scope.get('result')


def described(error):
    # Skip the first entries, which are from this program.
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == '<string>':
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    kind = type(error)
    home = '' if kind.__module__ in ('builtins', '__everstep__') else kind.__module__ + '.'
    return {'ok': False, 'type': home + kind.__qualname__, 'message': str(error),
            'traceback': ''.join(lines)}


def answer(task):
    before = dict(os.environ), list(sys.path), os.getcwd(), threading.active_count()
    room = task['capture']
    sys.stdout, sys.stderr = out, err = Capture(room), Capture(room)
    try:
        os.environ.update(task['env'])
        os.chdir(task['cwd'])
        value = execute(task)
        try:
            json.dumps(value, allow_nan=False)
            reply = {'ok': True, 'value': value}
        except (TypeError, ValueError, RecursionError) as error:
            reply = {'ok': False, 'type': '', 'message': 'the result is not JSON: ' + str(error)}
    except BaseException as error:
        reply = described(error)
    reply['stdout'], reply['stderr'] = out.text(), err.text()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    try:
        os.environ.clear()
        os.environ.update(before[0])
        sys.path[:] = before[1]
        os.chdir(before[2])
        linecache.clearcache()
    except OSError:
        reply['dirty'] = True
    if threading.active_count() > before[3]:
        reply['dirty'] = True
    return reply


while True:
    line = requests.readline()
    if not line:
        os._exit(0)
    send(answer(json.loads(requests.read(int(line)))))
)python";

}  // namespace everstep
