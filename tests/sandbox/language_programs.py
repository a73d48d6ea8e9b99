"""Small programs in every language, one for each thing that can become of a program."""

from dataclasses import dataclass

import pytest

from assay.errors import InfraFault
from assay.sandboxes.pool import Pool
from assay.settings import required_neighbours
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.table import LANGUAGES


@dataclass(frozen=True)
class Programs:
    """Sources of one language."""

    hello: str
    """Writes `hello` after a fifth of a second, in which its memory is looked at."""
    echo: str
    """Writes the sum of two numbers that it reads."""
    crash: str
    """Ends with status 3 after a word on standard error."""
    spin: str
    """Never ends."""
    hoard: str
    """Takes memory and uses it, for ever."""
    chatter: str
    """Writes for ever."""
    daemon: str
    """Starts `sleep MARK` apart from itself, writes `0` once that runs, and ends; fails if it does not run."""
    wrong: str
    """Is no program of the language: its grammar, or a name that there is not."""


_SPAWN = """#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
extern char **environ;
static int start(void) {
    char name[] = "sleep", mark[] = "MARK", *line[] = {name, mark, 0};
    posix_spawnattr_t apart;
    posix_spawnattr_init(&apart);
    posix_spawnattr_setflags(&apart, POSIX_SPAWN_SETSID);
    return posix_spawnp(0, name, 0, &apart, line, environ);
}
"""
PROGRAMS = {
    "python": Programs(
        "import time\ntime.sleep(0.2)\nprint('hello')\n",
        "print(sum(map(int, input().split())))\n",
        "import sys\nprint('bad', file=sys.stderr)\nsys.exit(3)\n",
        "while True: pass\n",
        "kept = []\nwhile True: kept.append(bytearray(b'x' * 1000000))\n",
        "while True: print('x' * 1000)\n",
        "import subprocess\nsubprocess.Popen(['sleep', 'MARK'], start_new_session=True)\nprint(0)\n",
        "def main(:\n    pass\n",
    ),
    "c": Programs(
        '#include <stdio.h>\n#include <unistd.h>\nint main(void){usleep(200000);puts("hello");return 0;}\n',
        '#include <stdio.h>\nint main(void){int a,b;scanf("%d %d",&a,&b);printf("%d\\n",a+b);return 0;}\n',
        '#include <stdio.h>\nint main(void){fputs("bad\\n",stderr);return 3;}\n',
        "int main(void){volatile int x=0;for(;;)x++;}\n",
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void){for(;;){volatile char*p=malloc(1000000);if(p)memset((void*)p,1,1000000);}}\n",
        '#include <stdio.h>\nint main(void){for(;;)puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");}\n',
        f'{_SPAWN}int main(void){{if(start())return 9;puts("0");return 0;}}\n',
        "int main(void){return x;}\n",
    ),
    "cpp": Programs(
        '#include <iostream>\n#include <unistd.h>\nint main(){usleep(200000);std::cout<<"hello"<<std::endl;}\n',
        "#include <iostream>\nint main(){long long a,b;std::cin>>a>>b;std::cout<<a+b<<std::endl;}\n",
        '#include <iostream>\nint main(){std::cerr<<"bad"<<std::endl;return 3;}\n',
        "int main(){volatile int x=0;for(;;)x=x+1;}\n",
        "#include <vector>\nint main(){std::vector<std::vector<char>> k;for(;;)k.emplace_back(1000000,'x');}\n",
        '#include <iostream>\nint main(){for(;;)std::cout<<"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n";}\n',
        f'{_SPAWN}int main(){{if(start())return 9;puts("0");}}\n',
        "int main(){return x;}\n",
    ),
    "javascript": Programs(
        "setTimeout(()=>console.log('hello'),200);\n",
        'const [a,b]=require("fs").readFileSync(0,"utf8").split(/\\s+/).map(Number);console.log(a+b);\n',
        'console.error("bad");process.exit(3);\n',
        "for(;;){}\n",
        'const k=[];for(;;)k.push(Buffer.alloc(1000000,"x"));\n',
        'const fs=require("fs");for(;;)fs.writeSync(1,"x".repeat(1000));\n',
        'require("child_process").spawn("sleep",["MARK"],{detached:true,stdio:"ignore"}).unref();console.log(0);\n',
        "const main = ;\n",
    ),
    "typescript": Programs(
        "const say=(word:string):void=>console.log(word);setTimeout(()=>say('hello'),200);\n",
        'const [a,b]:number[]=require("fs").readFileSync(0,"utf8").split(/\\s+/).map(Number);console.log(a+b);\n',
        'console.error("bad" as string);process.exit(3);\n',
        "let x:number=0;for(;;){x++;}\n",
        'const k:any[]=[];for(;;)k.push(Buffer.alloc(1000000,"x"));\n',
        'const fs:any=require("fs");for(;;)fs.writeSync(1,"x".repeat(1000));\n',
        'require("child_process").spawn("sleep",["MARK"],{detached:true,stdio:"ignore"} as any)'
        ".unref();console.log(0);\n",
        "const x: = ;\n",
    ),
    "java": Programs(
        "public class Main { public static void main(String[] a) throws Exception {\n"
        'Thread.sleep(200);System.out.println("hello");}}\n',
        "import java.util.*;\npublic class Sum { public static void main(String[] a) {\n"
        "Scanner s=new Scanner(System.in);System.out.println(s.nextInt()+s.nextInt());}}\n",
        'class Main { public static void main(String[] a) { System.err.println("bad"); System.exit(3); }}\n',
        "class Main { static volatile int x; public static void main(String[] a) { for(;;) x++; }}\n",
        "import java.util.*;\nclass Main { public static void main(String[] a) {\n"
        "List<byte[]> k=new ArrayList<>();for(;;){byte[] b=new byte[1000000];Arrays.fill(b,(byte)1);k.add(b);}}}\n",
        'class Main { public static void main(String[] a) { for(;;) System.out.println("xxxxxxxxxxxxxxxxxxxx"); }}\n',
        "class Main { public static void main(String[] a) throws Exception {\n"
        'Process p=new ProcessBuilder("setsid","sleep","MARK").start();\n'
        "while(p.info().arguments().orElse(new String[0]).length!=1)if(!p.isAlive())System.exit(9);\n"
        "System.out.println(0);}}\n",
        "class Main { int f() { return x; } }\n",
    ),
    "go": Programs(
        'package main\nimport ("fmt";"time")\nfunc main(){time.Sleep(200*time.Millisecond);fmt.Println("hello")}\n',
        'package main\nimport "fmt"\nfunc main(){var a,b int;fmt.Scan(&a,&b);fmt.Println(a+b)}\n',
        'package main\nimport ("fmt";"os")\nfunc main(){fmt.Fprintln(os.Stderr,"bad");os.Exit(3)}\n',
        "package main\nvar x int\nfunc main(){for{x++}}\n",
        "package main\nvar k [][]byte\n"
        "func main(){for{b:=make([]byte,1000000);for i:=range b{b[i]=1};k=append(k,b)}}\n",
        'package main\nimport "fmt"\nfunc main(){for{fmt.Println("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")}}\n',
        'package main\nimport ("fmt";"os/exec";"syscall")\n'
        'func main(){c:=exec.Command("sleep","MARK");c.SysProcAttr=&syscall.SysProcAttr{Setsid:true}\n'
        "if e:=c.Start();e!=nil{panic(e)};fmt.Println(0)}\n",
        "package main\nfunc main(){return x}\n",
    ),
    "rust": Programs(
        'fn main(){std::thread::sleep(std::time::Duration::from_millis(200));println!("hello");}\n',
        "use std::io::*;\nfn main(){let mut s=String::new();stdin().read_to_string(&mut s).unwrap();\n"
        'let t:i64=s.split_whitespace().map(|x|x.parse::<i64>().unwrap()).sum();println!("{}",t);}\n',
        'fn main(){eprintln!("bad");std::process::exit(3);}\n',
        "fn main(){let mut x=0u64;loop{unsafe{std::ptr::write_volatile(&mut x,1);}}}\n",
        "fn main(){let mut k=Vec::new();loop{k.push(vec![1u8;1000000]);}}\n",
        "use std::io::Write;\n"
        'fn main(){let mut o=std::io::stdout();loop{let _=writeln!(o,"xxxxxxxxxxxxxxxxxxxxxx");}}\n',
        'fn main(){let c=std::process::Command::new("setsid").args(["sleep","MARK"]).spawn().unwrap();\n'
        'let place=format!("/proc/{}/cmdline",c.id());\n'
        'while !std::fs::read_to_string(&place).unwrap().starts_with("sleep"){}\nprintln!("0");}\n',
        "fn main(){x}\n",
    ),
    "bash": Programs(
        "sleep 0.2\necho hello\n",
        "read -r a b\necho $((a + b))\n",
        "echo bad >&2\nexit 3\n",
        "while :; do :; done\n",
        'x=$(head -c 16000000 /dev/zero | tr "\\0" x)\nk=$x\nwhile :; do k="$k$x"; done\n',
        "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n",
        "setsid sleep MARK >/dev/null 2>&1 &\n"
        "until [[ $(tr '\\0' ' ' </proc/$!/cmdline) == sleep* ]]; do :; done\necho 0\n",
        "main() {\n",
    ),
}


def offered(pool: Pool, builder: Builder, name: str) -> str:
    """Return a language's name; skip where it cannot be had, unless ASSAY_REQUIRE names `languages`."""
    try:
        with pool.slot() as slot:
            builder.check_offered(slot, LANGUAGES[name])
    except InfraFault as error:
        if "languages" in required_neighbours():
            raise
        pytest.skip(str(error))
    return name
